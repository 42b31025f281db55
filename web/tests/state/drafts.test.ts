// Drafts.

import { beforeEach, expect, test } from "vitest";

import { draftOf, forgetDrafts, giveBack, keepAll, setDraft } from "../../src/state/drafts";

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
  forgetDrafts();
});

const reload = () => forgetDrafts();
const otherTab = (name: string) => {
  sessionStorage.setItem("handrail.tab", name);
  forgetDrafts();
};

test("a draft survives a reload, in its own session", () => {
  setDraft("s", "words");
  reload();
  expect(draftOf("s")).toBe("words");
  expect(draftOf("other")).toBe("");
});

test("another tab begins with it, and does not overwrite it as long as both are used", () => {
  otherTab("one");
  setDraft("s", "of tab one");
  otherTab("two");
  setDraft("s", "of tab two");
  otherTab("one");
  expect(draftOf("s")).toBe("of tab one");
});

test("a draft left by another tab is taken over, and deleted when sent", () => {
  otherTab("gone");
  setDraft("s", "left behind");
  otherTab("new");
  expect(draftOf("s")).toBe("left behind");
  setDraft("s", "");
  otherTab("third");
  expect(draftOf("s")).toBe("");
});

test("an open tab keeps its own draft", () => {
  otherTab("open");
  setDraft("s", "mine");
  localStorage.clear(); // as another tab does that took it over
  keepAll();
  forgetDrafts();
  expect(draftOf("s")).toBe("mine");
});

test("also one that was only found again after a reload, and not touched since", () => {
  otherTab("open");
  setDraft("s", "mine");
  reload();
  expect(draftOf("s")).toBe("mine");
  localStorage.clear();
  keepAll();
  reload();
  expect(draftOf("s")).toBe("mine");
});

test("a returned message is put before the text written meanwhile", () => {
  setDraft("s", "later");
  giveBack("s", "sooner");
  expect(draftOf("s")).toBe("sooner\nlater");
});

test("stored values may have any shape", () => {
  localStorage.setItem("handrail.draft.s.x", "{");
  expect(draftOf("s")).toBe("");
});
