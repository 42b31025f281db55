// The supported languages, and how a file name or a fence selects one. Grammars are loaded on first use.

import type { LanguageFn } from "highlight.js";

type Load = () => Promise<{ default: LanguageFn }>;

export const LANGUAGES: Record<string, Load> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cmake: () => import("highlight.js/lib/languages/cmake"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  csharp: () => import("highlight.js/lib/languages/csharp"),
  css: () => import("highlight.js/lib/languages/css"),
  dart: () => import("highlight.js/lib/languages/dart"),
  diff: () => import("highlight.js/lib/languages/diff"),
  dockerfile: () => import("highlight.js/lib/languages/dockerfile"),
  elixir: () => import("highlight.js/lib/languages/elixir"),
  go: () => import("highlight.js/lib/languages/go"),
  graphql: () => import("highlight.js/lib/languages/graphql"),
  groovy: () => import("highlight.js/lib/languages/groovy"),
  haskell: () => import("highlight.js/lib/languages/haskell"),
  ini: () => import("highlight.js/lib/languages/ini"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  julia: () => import("highlight.js/lib/languages/julia"),
  kotlin: () => import("highlight.js/lib/languages/kotlin"),
  less: () => import("highlight.js/lib/languages/less"),
  lua: () => import("highlight.js/lib/languages/lua"),
  makefile: () => import("highlight.js/lib/languages/makefile"),
  markdown: () => import("highlight.js/lib/languages/markdown"),
  nginx: () => import("highlight.js/lib/languages/nginx"),
  objectivec: () => import("highlight.js/lib/languages/objectivec"),
  perl: () => import("highlight.js/lib/languages/perl"),
  php: () => import("highlight.js/lib/languages/php"),
  powershell: () => import("highlight.js/lib/languages/powershell"),
  protobuf: () => import("highlight.js/lib/languages/protobuf"),
  python: () => import("highlight.js/lib/languages/python"),
  r: () => import("highlight.js/lib/languages/r"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  scala: () => import("highlight.js/lib/languages/scala"),
  scss: () => import("highlight.js/lib/languages/scss"),
  sql: () => import("highlight.js/lib/languages/sql"),
  swift: () => import("highlight.js/lib/languages/swift"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

/** Languages embedded in others; without their grammars the embedded parts stay uncoloured. */
export const INSIDE: Record<string, string[]> = { xml: ["css", "javascript"], markdown: ["xml"], php: ["xml"] };

const OTHER_NAMES: Record<string, string> = {
  bat: "powershell", cc: "cpp", cfg: "ini", cjs: "javascript", conf: "ini", console: "bash", containerfile: "dockerfile", cs: "csharp", cts: "typescript", cxx: "cpp",
  docker: "dockerfile", env: "ini", ex: "elixir", exs: "elixir", gradle: "groovy", gql: "graphql", h: "cpp", hpp: "cpp", hs: "haskell", htm: "xml", html: "xml",
  ipynb: "json", jl: "julia", js: "javascript", json5: "json", jsonc: "json", jsonl: "json", jsx: "javascript", kt: "kotlin", kts: "kotlin", m: "objectivec",
  make: "makefile", md: "markdown", mdx: "markdown", mjs: "javascript", mk: "makefile", mts: "typescript", ndjson: "json", patch: "diff", pl: "perl", pm: "perl",
  postgres: "sql", proto: "protobuf", ps1: "powershell", py: "python", pyi: "python", python3: "python", rb: "ruby", rs: "rust", sass: "scss", sh: "bash", shell: "bash",
  svelte: "xml", svg: "xml", toml: "ini", ts: "typescript", tsx: "typescript", vue: "xml", xhtml: "xml", yml: "yaml", zsh: "bash",
};

/** The language for the name after a fence, or "". */
export function languageNamed(name: string): string {
  const word = name.trim().toLowerCase().split(/[\s,{:]/)[0] ?? "";
  if (Object.hasOwn(LANGUAGES, word)) return word;
  return Object.hasOwn(OTHER_NAMES, word) ? OTHER_NAMES[word]! : "";
}

/** The language for a file path, or "". */
export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return languageNamed(name.slice(name.lastIndexOf(".") + 1)) || languageNamed(name.split(".")[0] ?? "");
}
