// Turns: asked, streamed, stopped, limited.

import { PIXEL, Said, allow, ask, equal, ok, options, project, sdk, talking, userLine } from './stage.mjs'

export const scenarios = {
  async query() {
    const said = await ask('hi')
    const { result } = said
    equal([said.text, result.subtype, result.is_error, result.result, result.num_turns], ['Hello.', 'success', false, 'Hello.', 1])
    equal([result.session_id, said.init.cwd], [said.init.session_id, project])
    ok(result.total_cost_usd > 0 && result.usage.output_tokens > 0 && result.uuid)
    ok(Object.keys(result.modelUsage).length > 0)
  },

  async multi_turn() {
    await talking({}, async (talk) => {
      const first = await talk.turn('the first')
      const second = await talk.turn('the next')
      equal([first.result.result, second.result.result], ['one', 'two'])
      equal(first.result.session_id, second.result.session_id)
      ok(second.result.total_cost_usd > first.result.total_cost_usd)
    })
  },

  async streaming_input() {
    let answered
    const first = new Promise((resolve) => (answered = resolve))
    async function* prompts() {
      yield userLine('the first')
      await first
      yield userLine([{ type: 'text', text: 'the second' }])
    }
    const said = new Said()
    for await (const message of sdk.query({ prompt: prompts(), options: options() })) {
      said.push(message)
      if (message.type === 'result') answered()
    }
    equal(said.of('result').map((result) => result.result), ['one', 'two'])
  },

  async image_input() {
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }
    await talking({}, async (talk) => {
      equal((await talk.turn([{ type: 'text', text: 'what is this' }, picture])).text, 'a pixel')
    })
  },

  async partial_messages() {
    const said = await ask('go', { includePartialMessages: true })
    const events = said.of('stream_event').map((message) => message.event)
    equal([events[0].type, events.at(-1).type], ['message_start', 'message_stop'])
    const deltas = events.filter((event) => event.type === 'content_block_delta').map((event) => event.delta)
    equal(deltas.map((delta) => delta.text ?? '').join(''), 'red green blue')
    equal(deltas.map((delta) => delta.thinking ?? '').join(''), 'Let me see.')
    equal(said.blocks.map((block) => block.type), ['thinking', 'text'])
  },

  async interrupt() {
    await talking({ includePartialMessages: true }, async (talk) => {
      const said = await talk.turn('go', async (message) => {
        if (message.type === 'stream_event' && message.event.type === 'content_block_stop') await talk.query.interrupt()
      })
      equal(said.result.subtype, 'error_during_execution')
      equal((await talk.turn('and now?')).text, 'still here')
    })
  },

  async abort() {
    const abortController = new AbortController()
    let failure
    const said = new Said()
    try {
      for await (const message of sdk.query({ prompt: 'go', options: options({ abortController, includePartialMessages: true }) })) {
        said.push(message)
        if (message.type === 'stream_event' && message.event.type === 'content_block_stop') abortController.abort()
      }
    } catch (error) {
      failure = error
    }
    ok(failure instanceof sdk.AbortError, `it ended with ${failure}`)
    equal(said.result, undefined)
  },

  async max_turns() {
    await talking({ maxTurns: 2, canUseTool: allow }, async (talk) => {
      const said = await talk.turn('go')
      equal([said.result.subtype, said.result.is_error], ['error_max_turns', true])
      ok(!said.text.includes('never said'))
    })
  },

  async budget() {
    await talking({ maxBudgetUsd: 0.0001, canUseTool: allow }, async (talk) => {
      const said = await talk.turn('go')
      equal([said.result.subtype, said.result.is_error], ['error_max_budget_usd', true])
      ok(!said.text.includes('never said'))
    })
  },

  async error_result() {
    await talking({}, async (talk) => {
      const { result } = await talk.turn('go')
      equal([result.subtype, result.is_error, result.api_error_status], ['success', true, 400])
      ok(result.result.includes('the request is odd'))
    })
  },

  async structured_output() {
    const properties = { name: { type: 'string' }, age: { type: 'integer' } }
    const schema = { type: 'object', properties, required: ['name', 'age'] }
    const { result } = await ask('who?', { outputFormat: { type: 'json_schema', schema } })
    equal([result.subtype, result.structured_output], ['success', { name: 'Ada', age: 36 }])
  },

  async parallel_tools() {
    const said = await ask('go', { allowedTools: ['Bash'] })
    equal(said.toolResults.map((block) => block.content).sort(), ['left', 'right'])
    equal(said.calls.map((call) => call.id).sort(), said.toolResults.map((block) => block.tool_use_id).sort())
    equal(said.result.result, 'both')
  },
}
