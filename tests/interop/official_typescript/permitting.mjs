// Permissions: asked, answered, remembered.

import { readdirSync } from 'node:fs'
import { ask, equal, made, never, ok, project, talking } from './stage.mjs'

// One turn with a callback. Out: what was said, and what was asked.
async function asking(answer, given = {}) {
  const questions = []
  const canUseTool = async (name, input, context) => {
    questions.push({ name, input, context })
    return answer(input, context)
  }
  return { said: await ask('go', { canUseTool, ...given }), questions }
}

export const scenarios = {
  async permission_allow() {
    const { said, questions } = await asking((input) => ({ behavior: 'allow', updatedInput: input }))
    equal(questions.map(({ name, input }) => [name, input.command]), [['Bash', 'touch made.txt; echo it is made']])
    equal(questions[0].context.toolUseID, said.calls[0].id)
    equal([said.result.result, made()], ['I made it.', true])
    equal([said.toolResults[0].content, Boolean(said.toolResults[0].is_error)], ['it is made', false])
  },

  async permission_deny() {
    const { said } = await asking(() => ({ behavior: 'deny', message: 'not today' }))
    equal([said.result.result, made(), said.toolResults[0].is_error], ['I understand.', false, true])
    equal(said.result.permission_denials.map((denial) => [denial.tool_name, denial.tool_use_id]), [['Bash', said.calls[0].id]])
  },

  async permission_updated_input() {
    const { said } = await asking(() => ({ behavior: 'allow', updatedInput: { command: 'echo by the user' } }))
    equal([said.result.result, made()], ['changed', false])
  },

  async permission_suggestions() {
    const { said, questions } = await asking((input, { suggestions }) => {
      return { behavior: 'allow', updatedInput: input, updatedPermissions: suggestions }
    })
    equal(questions.map(({ name }) => name), ['Write'])
    ok(questions[0].context.suggestions.length > 0)
    equal(readdirSync(project).filter((name) => name.endsWith('.txt')).sort(), ['one.txt', 'two.txt'])
    equal(said.result.result, 'two files')
  },

  async permission_interrupt() {
    const canUseTool = async () => ({ behavior: 'deny', message: 'not today', interrupt: true })
    await talking({ canUseTool }, async (talk) => {
      const said = await talk.turn('go')
      equal([said.result.subtype, said.text, made()], ['error_during_execution', '', false])
    })
  },

  async question() {
    const { said, questions } = await asking((input) => {
      return { behavior: 'allow', updatedInput: { ...input, answers: { [input.questions[0].question]: 'Blue' } } }
    })
    equal(questions.map(({ name }) => name), ['AskUserQuestion'])
    equal(questions[0].input.questions[0].options.map((option) => option.label), ['Red', 'Blue'])
    equal(said.result.result, 'Blue it is.')
  },

  async plan_mode() {
    const { said, questions } = await asking((input) => ({ behavior: 'allow', updatedInput: input }), { permissionMode: 'plan' })
    equal(said.init.permissionMode, 'plan')
    equal(questions.map(({ name }) => name), ['ExitPlanMode'])
    equal(said.result.result, 'digging')
  },

  async allowed_tools() {
    const said = await ask('go', { canUseTool: never, allowedTools: ['Bash(touch:*)', 'Bash(echo:*)'] })
    equal([said.result.result, made()], ['I made it.', true])
  },

  async disallowed_tools() {
    const { init } = await ask('is there a shell', { disallowedTools: ['Bash'] })
    ok(!init.tools.includes('Bash') && init.tools.includes('Read'))
  },

  async set_permission_mode() {
    await talking({ canUseTool: never }, async (talk) => {
      equal((await talk.turn('hello')).init.permissionMode, 'default')
      await talk.query.setPermissionMode('acceptEdits')
      const said = await talk.turn('write')
      equal([said.result.result, said.init.permissionMode, made()], ['written', 'acceptEdits', true])
    })
  },
}
