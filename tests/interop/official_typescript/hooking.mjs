// Hooks: around tools, before a prompt, at the end of a turn.

import { allow, ask, equal, made, never, ok, project } from './stage.mjs'

// One turn with one hook. Out: what was said, and what the hook was told.
async function hooked(event, answer, given = {}, matcher = undefined) {
  const told = []
  const hook = async (input) => {
    told.push(input)
    return answer(input)
  }
  return { said: await ask('go', { hooks: { [event]: [{ matcher, hooks: [hook] }] }, ...given }), told }
}

const specific = (hookEventName, fields) => () => ({ hookSpecificOutput: { hookEventName, ...fields } })
const decision = (permissionDecision, fields) => specific('PreToolUse', { permissionDecision, ...fields })

export const scenarios = {
  async hook_allow() {
    const answer = decision('allow', { permissionDecisionReason: 'fine' })
    const { said, told } = await hooked('PreToolUse', answer, { canUseTool: never }, 'Bash')
    equal(told.map((one) => [one.hook_event_name, one.tool_name, one.cwd]), [['PreToolUse', 'Bash', project]])
    equal([told[0].session_id, said.result.result, made()], [said.result.session_id, 'I made it.', true])
  },

  async hook_deny() {
    const answer = decision('deny', { permissionDecisionReason: 'not today' })
    const { said } = await hooked('PreToolUse', answer, { canUseTool: never }, 'Bash')
    equal([said.result.result, made(), said.toolResults[0].is_error], ['I understand.', false, true])
  },

  async hook_modify() {
    const answer = decision('allow', { updatedInput: { command: 'echo by the hook' } })
    const { said } = await hooked('PreToolUse', answer, { canUseTool: never }, 'Bash')
    equal([said.result.result, made()], ['changed', false])
  },

  async hook_after() {
    const answer = specific('PostToolUse', { additionalContext: 'the disk is nearly full' })
    const { said, told } = await hooked('PostToolUse', answer, { canUseTool: allow }, 'Bash')
    equal([told[0].tool_response.stdout, said.result.result], ['it is made', 'I heard.'])
  },

  async hook_prompt() {
    const answer = specific('UserPromptSubmit', { additionalContext: 'today is a Monday' })
    const { said, told } = await hooked('UserPromptSubmit', answer)
    equal([told[0].prompt, said.result.result], ['go', 'Monday.'])
  },

  async hook_prompt_blocked() {
    const { said } = await hooked('UserPromptSubmit', () => ({ decision: 'block', reason: 'too early' }))
    ok(!said.text.includes('never asked'))
    ok(JSON.stringify(said).includes('too early'))
  },

  async hook_stop() {
    const answer = (input) => (input.stop_hook_active ? {} : { decision: 'block', reason: 'not yet' })
    const { said, told } = await hooked('Stop', answer)
    equal(told.map((one) => one.stop_hook_active), [false, true])
    equal([said.text, said.result.result], ['finishedmore', 'more'])
  },
}
