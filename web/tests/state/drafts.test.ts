// What is written and not sent.

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

test("a draft is there again after a reload, in its own session", () => {
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

test("what another tab left is taken over, and goes when it is sent here", () => {
  otherTab("gone");
  setDraft("s", "left behind");
  otherTab("new");
  expect(draftOf("s")).toBe("left behind");
  setDraft("s", "");
  otherTab("third");
  expect(draftOf("s")).toBe("");
});

test("a tab that is still open keeps its own, whatever another did with it", () => {
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

test("what comes back stands before what was written meanwhile", () => {
  setDraft("s", "later");
  giveBack("s", "sooner");
  expect(draftOf("s")).toBe("sooner\nlater");
});

test("what is kept may be anything", () => {
  localStorage.setItem("handrail.draft.s.x", "{");
  expect(draftOf("s")).toBe("");
});
