// Conversations that outlive a process, and files that go back in time.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { allow, ask, equal, ok, project, put, read, sdk, talking } from './stage.mjs'

// A conversation that has ended. Out: its id.
async function earlier(given = {}) {
  return (await ask('remember 42', given)).result.session_id
}

// A turn that changed a file. Out, through `body`: the talk and the id of the prompt.
async function changing(body) {
  put(join(project, 'notes.txt'), 'old\n')
  const given = { enableFileCheckpointing: true, canUseTool: allow, extraArgs: { 'replay-user-messages': null } }
  await talking(given, async (talk) => {
    const said = await talk.turn('change the notes')
    equal([said.result.result, read('notes.txt')], ['changed', 'new\n'])
    const [prompt] = said.of('user').filter((message) => JSON.stringify(message.message.content).includes('change the notes'))
    await body(talk, prompt.uuid)
  })
}

export const scenarios = {
  async resume() {
    const old = await earlier()
    const { result } = await ask('what was it?', { resume: old })
    equal([result.result, result.session_id], ['It was 42.', old])
  },

  async continue() {
    const old = await earlier()
    const { result } = await ask('what was it?', { continue: true })
    equal([result.result, result.session_id], ['It was 42.', old])
  },

  async fork() {
    const old = await earlier()
    const { result } = await ask('what was it?', { resume: old, forkSession: true })
    equal(result.result, 'It was 42.')
    ok(result.session_id !== old)
    const found = await sdk.listSessions({ dir: project })
    equal(found.map((one) => one.sessionId).sort(), [old, result.session_id].sort())
  },

  async resume_at() {
    const [kept, session] = await talking({}, async (talk) => {
      const first = await talk.turn('remember 42')
      await talk.turn('this too')
      return [first.of('assistant')[0].uuid, first.result.session_id]
    })
    const { result } = await ask('what was it?', { resume: session, resumeSessionAt: kept, forkSession: true })
    equal(result.result, 'It was 42.')
  },

  async own_session_id() {
    const chosen = randomUUID()
    equal(await earlier({ sessionId: chosen }), chosen)
    equal((await ask('what was it?', { resume: chosen })).result.result, 'It was 42.')
  },

  async sessions() {
    const old = await earlier()
    const found = await sdk.listSessions({ dir: project })
    equal(found.map((one) => [one.sessionId, one.firstPrompt, one.cwd]), [[old, 'remember 42', project]])
    const messages = await sdk.getSessionMessages(old, { dir: project })
    equal(messages.map((message) => message.type), ['user', 'assistant'])
    equal(messages[0].message.content, [{ type: 'text', text: 'remember 42' }])
    equal(messages[1].message.content[0].text, 'I will.')
  },

  async rewind() {
    await changing(async (talk, prompt) => {
      ok((await talk.query.rewindFiles(prompt)).canRewind)
      equal(read('notes.txt'), 'old\n')
    })
  },

  async rewind_dry_run() {
    await changing(async (talk, prompt) => {
      const found = await talk.query.rewindFiles(prompt, { dryRun: true })
      equal([found.canRewind, found.filesChanged], [true, [join(project, 'notes.txt')]])
      equal(read('notes.txt'), 'new\n')
    })
  },
}
