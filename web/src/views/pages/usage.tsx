// The usage page: usage and cost per day, model and project, as charts and tables.

import { lazy, Suspense, useEffect, useMemo, useState } from "react";

import { get } from "../../protocol/api";
import { number, type Json } from "../../protocol/wire";
import { strings } from "../../strings";
import { dollars, portion, short, shortDollars, whole } from "../../strings/figures";
import { Button } from "../../ui/button";
import { baseName } from "../../ui/paths";
import { Page } from "./page";
import { grouped, perDay, todayOf, tokens, total, usageRows, type Group, type UsageRow } from "./usage-figures";
import "./usage.css";

const UsageChart = lazy(() => import("./usage-chart").then((file) => ({ default: file.UsageChart })));
const words = strings.pages.usage;
const RANGES = [7, 30, 90] as const;

interface Told {
  days: number;
  rows: UsageRow[];
  sessions: number;
  cost: number;
}

function useUsage(days: number): { told: Told | undefined; error: string } {
  const [told, setTold] = useState<Told>();
  const [error, setError] = useState("");
  useEffect(() => {
    let wanted = true;
    void get<Json>(`/api/usage?days=${days}`).then(
      (answer) => wanted && setTold({ days, rows: usageRows(answer["rows"]), sessions: number(answer["sessions"]), cost: number(answer["cost_usd"]) }),
      (problem: Error) => wanted && setError(problem.message),
    );
    return () => {
      wanted = false;
    };
  }, [days]);
  return { told, error };
}

export function Usage() {
  const [days, setDays] = useState<number>(30);
  const { told, error } = useUsage(days);
  return (
    <Page title={words.title} actions={<Range days={days} choose={setDays} />}>
      {error && <p role="alert">{error}</p>}
      {!told && !error && <p className="soft">{words.loading}</p>}
      {told && <Figures told={told} />}
    </Page>
  );
}

function Range({ days, choose }: { days: number; choose(days: number): void }) {
  return (
    <div className="row" role="group" aria-label={words.range}>
      {RANGES.map((one) => (
        <Button key={one} kind="quiet" aria-pressed={one === days} onClick={() => choose(one)}>
          {words.days(one)}
        </Button>
      ))}
    </div>
  );
}

function Figures({ told }: { told: Told }) {
  const { rows, days } = told;
  const sums = total(rows);
  const used = new Set(rows.map((row) => row.day)).size;
  return (
    <>
      <section className="usage-totals">
        <p className="usage-sentence">{rows.length ? words.totals(sums.cost, tokens(sums), sums.turns, days) : words.nothing}</p>
        <p className="small soft">{[used > 1 ? words.average(sums.cost / used) : "", words.total(told.sessions, told.cost), words.told].filter(Boolean).join(" ")}</p>
      </section>
      {rows.length > 0 && (
        <>
          <Days rows={rows} days={days} />
          <Groups title={words.perModel} head={words.model} groups={grouped(rows, "model")} name={(name) => name || words.unknown} />
          <Groups title={words.perProject} head={words.project} groups={grouped(rows, "project")} name={(name) => baseName(name) || words.unknown} />
        </>
      )}
    </>
  );
}

function Days({ rows, days }: { rows: UsageRow[]; days: number }) {
  const [now] = useState(() => Date.now());
  const all = useMemo(() => perDay(rows, days, todayOf(rows, now)), [rows, days, now]);
  const names = useMemo(() => all.map((one) => one.name), [all]);
  const cost = useMemo(() => [{ label: words.cost, colour: "--accent", values: all.map((one) => one.cost) }], [all]);
  const used = useMemo(
    () => [
      { label: words.tokensRead, colour: "--line-strong", values: all.map((one) => one.cached) },
      { label: words.tokensIn, colour: "--needs", values: all.map((one) => one.input) },
      { label: words.tokensOut, colour: "--done", values: all.map((one) => one.output) },
    ],
    [all],
  );
  return (
    <section className="page-section">
      <h2>{words.perDay}</h2>
      <Suspense fallback={<div className="usage-chart" />}>
        <div className="usage-charts">
          {all.some((one) => one.cost > 0) && (
            <figure>
              <figcaption className="small">{words.cost}</figcaption>
              <UsageChart label={words.chart(words.cost, days)} days={names} series={cost} words={shortDollars} />
            </figure>
          )}
          <figure>
            <figcaption className="small usage-legend">
              {words.tokens}
              {used.map((one) => (
                <span key={one.label} className="usage-key" data-colour={one.colour}>
                  {one.label}
                </span>
              ))}
            </figcaption>
            <UsageChart label={words.chart(words.tokens, days)} days={names} series={used} words={short} />
          </figure>
        </div>
      </Suspense>
      <details>
        <summary className="small">{words.table}</summary>
        <Table head={words.day} groups={all.filter((one) => one.turns || tokens(one)).toReversed()} name={(day) => day} />
      </details>
    </section>
  );
}

function Groups({ title, head, groups, name }: { title: string; head: string; groups: Group[]; name(name: string): string }) {
  return (
    <section className="page-section">
      <h2>{title}</h2>
      <Table head={head} groups={groups} name={name} share />
    </section>
  );
}

interface TableProps {
  head: string;
  groups: Group[];
  name(name: string): string;
  share?: boolean;
}

function Table({ head, groups, name, share = false }: TableProps) {
  const sums = total(groups);
  const part = (one: Group): number => (sums.cost ? one.cost / sums.cost : tokens(sums) ? tokens(one) / tokens(sums) : 0); // without costs, the share of tokens
  return (
    <div className="page-table" tabIndex={0} role="region" aria-label={head}>
      <table>
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {share && <th scope="col">{words.share}</th>}
            {[words.cost, words.tokensIn, words.tokensOut, words.tokensRead, words.turns].map((one) => (
              <th key={one} scope="col" className="figure">
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groups.map((one) => (
            <tr key={one.name}>
              <th scope="row" title={one.name}>
                {name(one.name)}
              </th>
              {share && (
                <td className="usage-share">
                  <meter min={0} max={1} value={part(one)} aria-label={words.share} />
                  <span>{portion(part(one), 1)}</span>
                </td>
              )}
              <td className="figure">{dollars(one.cost)}</td>
              {[one.input, one.output, one.cached, one.turns].map((value, at) => (
                <td key={at} className="figure">
                  {whole(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
