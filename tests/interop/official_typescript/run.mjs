// Plays scenarios with the official TypeScript SDK. In: JSON on stdin: `[{"scenario": NAME, "environment": {...}}, …]`.
// Out: a JSON line for each: its name, and what failed or null.

import { readFileSync } from 'node:fs'
import * as hooking from './hooking.mjs'
import * as moving from './moving.mjs'
import * as permitting from './permitting.mjs'
import * as remembering from './remembering.mjs'
import * as setting from './setting.mjs'
import * as speaking from './speaking.mjs'
import { enter } from './stage.mjs'

const LIMIT = 90_000
const parts = [speaking, permitting, hooking, moving, remembering, setting]
const scenarios = Object.assign({}, ...parts.map((part) => part.scenarios))

function tooLong() {
  return new Promise((_, reject) => setTimeout(() => reject(new Error('it took too long')), LIMIT).unref())
}

// Out: what went wrong, if anything did.
async function play(name, environment) {
  try {
    enter(environment)
    await Promise.race([scenarios[name](), tooLong()])
    return null
  } catch (error) {
    return String(error?.stack ?? error)
  }
}

for (const { scenario, environment } of JSON.parse(readFileSync(0, 'utf8'))) {
  const failed = await play(scenario, environment)
  process.stdout.write(JSON.stringify({ scenario, failed }) + '\n')
}
process.stdout.write('', () => process.exit(0))
