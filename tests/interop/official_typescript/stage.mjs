// Where a scenario plays. In: the environment that its test made. Out: the SDK, options, turns, and what to assert on.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { mkdirSync, writeFileSync, existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const sdkFile = process.env.HANDRAIL_TYPESCRIPT_SDK
export const sdk = await import(pathToFileURL(sdkFile).href)
export const { z } = createRequire(sdkFile)('zod')
export const equal = assert.deepEqual
export const ok = assert.ok

export let agent, project, outside

// Makes an environment that of this process, for the SDK and the agents that it starts.
export function enter(environment) {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, environment)
  ;({ STAGE_AGENT: agent, STAGE_PROJECT: project, STAGE_OUTSIDE: outside } = environment)
}

export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const allow = async (name, input) => ({ behavior: 'allow', updatedInput: input })
export const never = async (name) => assert.fail(`${name} was not to be asked about`)
export const made = () => existsSync(join(project, 'made.txt'))
export const read = (...names) => readFileSync(join(project, ...names), 'utf8')

export function put(path, content) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

export function options(given = {}) {
  return { pathToClaudeCodeExecutable: agent, cwd: project, ...given }
}

// The messages of a turn.
export class Said extends Array {
  of(type, subtype) {
    return [...this].filter((message) => message.type === type && (!subtype || message.subtype === subtype))
  }
  get result() {
    return this.of('result').at(-1)
  }
  get init() {
    return this.of('system', 'init')[0]
  }
  get blocks() {
    return this.of('assistant').flatMap((message) => message.message.content)
  }
  get text() {
    return this.blocks.filter((block) => block.type === 'text').map((block) => block.text).join('')
  }
  get calls() {
    return this.blocks.filter((block) => block.type === 'tool_use')
  }
  get toolResults() {
    const contents = this.of('user').map((message) => message.message.content)
    return contents.filter(Array.isArray).flat().filter((block) => block.type === 'tool_result')
  }
}

// A conversation of one turn, asked with a string.
export async function ask(prompt, given) {
  const said = new Said()
  for await (const message of sdk.query({ prompt, options: options(given) })) said.push(message)
  return said
}

export function userLine(content) {
  return { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, session_id: '' }
}

// A conversation of several turns: `say` sends a prompt, `turn` sends one and waits for the end of its answer.
export class Talk {
  #lines = []
  #wake = () => {}
  #ended = false
  #result

  constructor(given) {
    this.query = sdk.query({ prompt: this.#prompts(), options: options(given) })
  }
  async *#prompts() {
    for (;;) {
      while (this.#lines.length) yield this.#lines.shift()
      if (this.#ended) return
      await new Promise((resolve) => (this.#wake = resolve))
    }
  }
  say(content) {
    this.#lines.push(userLine(content))
    this.#wake()
  }
  async turn(content, watch = async () => {}) {
    this.say(content)
    return this.until((message) => message.type === 'result', watch)
  }
  async until(last, watch = async () => {}) {
    const said = new Said()
    for (;;) {
      const { value, done } = await this.query.next()
      if (done) return said
      said.push(value)
      if (value.type === 'result') this.#result = value
      await watch(value)
      if (last(value)) return said
    }
  }
  // The SDK throws at the end of a talk whose last result was an error; here that was looked at already.
  async end() {
    this.#ended = true
    this.#wake()
    try {
      for await (const _ of this.query);
    } catch (error) {
      if (!this.#result?.is_error) throw error
    }
  }
}

// A talk that is ended whatever happens in it.
export async function talking(given, body) {
  const talk = new Talk(given)
  try {
    return await body(talk)
  } finally {
    await talk.end()
  }
}
