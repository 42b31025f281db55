// What options, settings and folders change.

import { join } from 'node:path'
import { allow, ask, equal, made, ok, outside, project, put, talking } from './stage.mjs'

const SONNET = 'claude-sonnet-4-5'
const HAIKU = 'claude-haiku-4-5'
const inProject = (...names) => join(project, '.claude', ...names)

export const scenarios = {
  async set_model() {
    await talking({ model: SONNET }, async (talk) => {
      const first = await talk.turn('one')
      await talk.query.setModel(HAIKU)
      const second = await talk.turn('two')
      equal([first, second].map((said) => said.of('assistant')[0].message.model), [SONNET, HAIKU])
      equal([first.init.model, second.init.model], [SONNET, HAIKU])
    })
  },

  async flag_settings() {
    await talking({ model: SONNET }, async (talk) => {
      await talk.turn('one')
      await talk.query.applyFlagSettings({ model: HAIKU })
      equal((await talk.turn('two')).of('assistant')[0].message.model, HAIKU)
    })
  },

  async system_prompt() {
    equal((await ask('hi', { systemPrompt: 'You are a pirate' })).result.result, 'Arr.')
    equal((await ask('hi')).result.result, 'Hello.')
  },

  async system_prompt_append() {
    const systemPrompt = { type: 'preset', preset: 'claude_code', append: 'Speak like a pirate' }
    equal((await ask('hi', { systemPrompt })).result.result, 'Arr.')
  },

  async settings_sources() {
    put(inProject('settings.json'), JSON.stringify({ permissions: { deny: ['Bash'] } }))
    const given = await ask('go', { settingSources: ['project'], canUseTool: allow })
    equal([given.result.result, made()], ['denied', false])
    const without = await ask('go', { settingSources: [], canUseTool: allow })
    equal([without.result.result, made()], ['ran', true])
  },

  async add_dir() {
    put(join(outside, 'far.txt'), 'from outside')
    equal((await ask('read it', { additionalDirectories: [outside] })).result.result, 'read')
    equal((await ask('read it')).result.result, 'not read')
  },

  async env() {
    const said = await ask('go', { env: { ...process.env, COLOUR: 'teal' }, allowedTools: ['Bash'] })
    equal(said.result.result, 'it is seen')
  },

  async stderr() {
    const heard = []
    const said = await ask('hi', { stderr: (data) => heard.push(data), extraArgs: { 'debug-to-stderr': null } })
    equal(said.result.result, 'Hello.')
    ok(heard.length > 0, 'nothing was said on stderr')
  },

  async tools_option() {
    equal((await ask('hi', { tools: ['Read', 'Bash'] })).init.tools.slice().sort(), ['Bash', 'Read'])
  },

  async slash_command() {
    put(inProject('commands', 'greet.md'), '---\ndescription: Greets\n---\nGreet $ARGUMENTS warmly')
    const said = await ask('/greet Ada', { settingSources: ['project'] })
    ok(said.init.slash_commands.includes('greet'))
    equal(said.result.result, 'Good day, Ada.')
  },

  async skills_and_agents_on_disk() {
    const home = process.env.CLAUDE_CONFIG_DIR
    put(join(home, 'skills', 'dig', 'SKILL.md'), '---\nname: dig\ndescription: Digs\n---\nDig.')
    put(join(home, 'agents', 'mole.md'), '---\nname: mole\ndescription: Digs\n---\nYou dig.')
    const { init } = await ask('hi', { settingSources: ['user'] })
    ok(init.agents.includes('mole') && init.skills.includes('dig'), JSON.stringify(init))
  },

  async plugin() {
    const folder = join(outside, 'greeter')
    put(join(folder, '.claude-plugin', 'plugin.json'), JSON.stringify({ name: 'greeter', version: '1.0.0' }))
    put(join(folder, 'commands', 'hi.md'), 'Say hi the plugin way')
    const said = await ask('/greeter:hi', { plugins: [{ type: 'local', path: folder }] })
    ok(said.init.plugins.some((one) => one.name === 'greeter'))
    equal(said.result.result, 'Hi from the plugin.')
  },

  async context_usage() {
    await talking({}, async (talk) => {
      await talk.turn('hi')
      const usage = await talk.query.getContextUsage()
      ok(usage.totalTokens > 0 && usage.maxTokens >= 200_000 && usage.categories.length > 0, JSON.stringify(usage))
    })
  },

  async supported() {
    await talking({ agents: { looker: { description: 'Looks', prompt: 'You look' } } }, async (talk) => {
      const commands = await talk.query.supportedCommands()
      ok(commands.some((command) => command.name === 'compact'))
      ok((await talk.query.supportedModels()).length > 0)
      ok((await talk.query.supportedAgents()).some((one) => one.name === 'looker'))
      ok(await talk.query.accountInfo())
      await talk.turn('hi')
    })
  },
}
