// What acts for the user: tools of their own, subagents, background tasks.

import { PIXEL, allow, ask, equal, ok, sdk, talking, z } from './stage.mjs'

const numbers = { a: z.number(), b: z.number() }
const text = (content, more = {}) => ({ content: [{ type: 'text', text: String(content) }], ...more })

// Options with a server of four tools, all allowed.
function sums() {
  const tools = [
    sdk.tool('add', 'Adds two numbers', numbers, async ({ a, b }) => text(a + b)),
    sdk.tool('multiply', 'Multiplies two numbers', numbers, async ({ a, b }) => text(a * b)),
    sdk.tool('divide', 'Divides two numbers', numbers, async () => text('by zero?', { isError: true })),
    sdk.tool('picture', 'Shows a picture', {}, async () => {
      return { content: [{ type: 'image', data: PIXEL, mimeType: 'image/png' }] }
    }),
  ]
  return { mcpServers: { sums: sdk.createSdkMcpServer({ name: 'sums', tools }) }, allowedTools: ['mcp__sums'] }
}

// The state of every server, by name.
async function states(query) {
  return Object.fromEntries((await query.mcpServerStatus()).map((server) => [server.name, server.status]))
}

export const scenarios = {
  async sdk_tools() {
    const said = await ask('go', sums())
    ok(['mcp__sums__add', 'mcp__sums__multiply'].every((name) => said.init.tools.includes(name)))
    const texts = Object.fromEntries(said.toolResults.map((block) => [block.tool_use_id, block.content[0].text]))
    equal(said.calls.map((call) => texts[call.id]), ['5', '12'])
    equal(said.result.result, '5 and 12')
  },

  async sdk_tool_error() {
    const said = await ask('go', sums())
    equal([said.result.result, said.toolResults[0].is_error], ['it failed', true])
    ok(JSON.stringify(said.toolResults[0].content).includes('by zero?'))
  },

  async sdk_tool_image() {
    const said = await ask('go', sums())
    const pictures = said.toolResults[0].content.filter((block) => block.type === 'image')
    equal(pictures.map((block) => block.source.media_type), ['image/png'])
    equal(said.result.result, 'a pixel')
  },

  async mcp_status() {
    const given = sums()
    given.mcpServers.dead = { command: '/nonexistent/server' }
    await talking(given, async (talk) => {
      await talk.turn('hello')
      equal(await states(talk.query), { sums: 'connected', dead: 'failed' })
      await talk.query.toggleMcpServer('sums', false)
      equal((await states(talk.query)).sums, 'disabled')
    })
  },

  async set_mcp_servers() {
    const greet = sdk.tool('greet', 'Greets', {}, async () => text('Hello from late'))
    await talking({ allowedTools: ['mcp__late'] }, async (talk) => {
      await talk.turn('hello')
      const changed = await talk.query.setMcpServers({ late: sdk.createSdkMcpServer({ name: 'late', tools: [greet] }) })
      equal([changed.added, changed.errors], [['late'], {}])
      equal((await talk.turn('greet me')).result.result, 'greeted')
    })
  },

  async agents() {
    const looker = { description: 'Looks', prompt: 'You have good eyes', tools: ['Read'] }
    const said = await ask('go', { agents: { looker }, canUseTool: allow, forwardSubagentText: true })
    ok(said.init.agents.includes('looker'))
    const inner = said.of('assistant').filter((message) => message.parent_tool_use_id)
    equal(inner.map((message) => [message.parent_tool_use_id, message.message.content[0].text]), [[said.calls[0].id, 'I see a mouse.']])
    equal(said.result.result, 'A mouse, it says.')
  },

  async background_task() {
    await talking({ allowedTools: ['Bash'] }, async (talk) => {
      const said = await talk.turn('start it')
      equal(said.result.result, 'it runs')
      const [started] = said.of('system', 'task_started')
      await talk.query.stopTask(started.task_id)
      const more = await talk.until((message) => message.subtype === 'task_notification')
      equal([more.at(-1).task_id, more.at(-1).status], [started.task_id, 'stopped'])
    })
  },
}
