// Forms of MCP servers.

import { expect, test } from "vitest";

import { contentOf, fieldsOf } from "../../src/views/prompts/form-rules";

const fields = fieldsOf({
  required: ["name", "age"],
  properties: {
    name: { type: "string", title: "Your name" },
    age: { type: "integer", minimum: 1, maximum: 150 },
    size: { type: "number", default: 1.5 },
    sure: { type: "boolean", default: true },
    colour: { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] },
    tags: { type: "array", items: { anyOf: [{ const: "a", title: "A" }, { const: "b" }] } },
    odd: "no schema",
  },
});

test("every kind of field is supported; other parts of the schema are dropped", () => {
  expect(fields.map((one) => [one.name, one.kind])).toEqual([["name", "text"], ["age", "number"], ["size", "number"], ["sure", "boolean"], ["colour", "choice"], ["tags", "choices"]]);
  expect(fields[4]!.choices).toEqual([{ value: "r", label: "Red" }, { value: "g", label: "Green" }]);
  expect(fieldsOf(null)).toEqual([]);
});

test("the server's order is used if it is given", () => {
  const schema = { properties: { a: { type: "string" }, b: { type: "string" }, c: { type: "string" } } };
  expect(fieldsOf(schema, ["c", "a"]).map((one) => one.name)).toEqual(["c", "a", "b"]);
});

test("missing required fields are reported; defaults count; empty optional fields are left out", () => {
  const { content, problems } = contentOf(fields, {});
  expect(Object.keys(problems)).toEqual(["name", "age"]);
  expect(content).toEqual({ size: 1.5, sure: true });
});

test("numbers are numbers, in their range, whole where that is asked", () => {
  expect(contentOf(fields, { name: "x", age: "abc" }).problems["age"]).toContain("number");
  expect(contentOf(fields, { name: "x", age: "1.5" }).problems["age"]).toContain("number");
  expect(contentOf(fields, { name: "x", age: "200" }).problems["age"]).toContain("range");
  expect(contentOf(fields, { name: "x", age: "33", tags: ["a"], colour: "g" }).content).toEqual({ name: "x", age: 33, size: 1.5, sure: true, colour: "g", tags: ["a"] });
});
