// The machines of a cluster with their role, load and status, and the streams in NATS. Polled while shown.

import type { ReactNode } from "react";

import { useCluster, useFreshCluster, type Cluster, type Machine, type Stream } from "../../state/cluster";
import { strings } from "../../strings";
import { bytes, whole } from "../../strings/figures";
import { Icon } from "../../ui/icon";
import { visible } from "../../ui/visible";
import { hasRoom } from "../sessions/where";
import "./machines.css";

const words = strings.machines.panel;

/** Renders nothing outside a cluster. */
export function Machines() {
  const cluster = useCluster((known) => known.cluster);
  return cluster && <Shown cluster={cluster} />;
}

function Shown({ cluster }: { cluster: Cluster }) {
  const problem = useCluster((known) => known.problem);
  useFreshCluster();
  const { machines, streams, alarms } = cluster;
  return (
    <section className="page-section machines" aria-label={words.title}>
      <h2>{words.title}</h2>
      <p>{words.summary(machines.length, machines.reduce((sum, one) => sum + one.sessions, 0))}</p>
      {(problem || !cluster.up) && (
        <p className="machines-stale" role="status">
          {problem ? words.failed(problem) : words.away}
        </p>
      )}
      {alarms.length > 0 && (
        <div className="machines-alarms" role="alert">
          <ul aria-label={words.alarms}>
            {alarms.map((one) => (
              <li key={one} className="row">
                <Icon name="bell" />
                <span>{visible(one, true)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      <Table label={words.table} heads={[words.machine, words.role, [words.sessions], [words.memory], words.labels, [words.behind, words.behindHelp], [words.heard], words.folders]}>
        {machines.map((one) => (
          <Line key={one.name} machine={one} me={one.name === cluster.me} />
        ))}
      </Table>
      {streams.length > 0 && (
        <>
          <h3>{words.streams}</h3>
          <Table label={words.streams} heads={[words.stream, [words.messages], [words.size], [words.copies], words.leader, words.lag]}>
            {streams.map((one) => (
              <Kept key={one.name} stream={one} />
            ))}
          </Table>
        </>
      )}
    </section>
  );
}

/** A column header; a pair is for a column of numbers, with an optional tooltip. */
type Head = string | [name: string, means?: string];

function Table({ label, heads, children }: { label: string; heads: Head[]; children: ReactNode }) {
  return (
    <div className="page-table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => {
              const [name, means] = typeof head === "string" ? [head] : head;
              return (
                <th key={name} scope="col" className={typeof head === "string" ? undefined : "figure"} title={means}>
                  {name}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

const roleOf = ({ address, runs }: Machine): string => (runs ? (address ? words.roles.both : words.roles.runner) : words.roles.gateway);

function Line({ machine, me }: { machine: Machine; me: boolean }) {
  const { sessions, mostSessions, freeMemory, leastMemory, behind, labels, roots, runs, moves } = machine;
  const full = mostSessions > 0 && sessions >= mostSessions;
  return (
    <tr>
      <th scope="row">
        <span className="row">
          {visible(machine.name, true)}
          {me && <span className="machines-me">{words.me}</span>}
        </span>
        <span className="soft machines-about">{visible([machine.cli, machine.version].filter(Boolean).join(" "), true)}</span>
      </th>
      <td className="machines-role">
        {roleOf(machine)}
        {runs && (
          <span className="soft machines-about" title={moves ? words.movesHelp : words.staysHelp}>
            {moves ? words.moves : words.stays}
          </span>
        )}
      </td>
      <td className="figure">
        {runs ? words.of(sessions, mostSessions) : "–"}
        {full && <Bad says={words.full} />}
      </td>
      <td className="figure">
        {freeMemory ? bytes(freeMemory) : "–"}
        {freeMemory > 0 && !full && !hasRoom(machine) && <Bad says={words.tooLittle} title={bytes(leastMemory)} />}
      </td>
      <td>{labels.length ? visible(labels.join(", "), true) : <span className="soft">{words.none}</span>}</td>
      <td className="figure">{behind ? words.events(behind) : "–"}</td>
      <td className="figure">{words.ago(machine.age)}</td>
      <td className="machines-folders">{roots.map((one) => <code key={one}>{visible(one, true)}</code>)}</td>
    </tr>
  );
}

function Bad({ says, title }: { says: string; title?: string }) {
  return (
    <span className="machines-about machines-bad" title={title}>
      {says}
    </span>
  );
}

function Kept({ stream }: { stream: Stream }) {
  return (
    <tr>
      <th scope="row">{visible(stream.name, true)}</th>
      <td className="figure">{whole(stream.messages)}</td>
      <td className="figure">{bytes(stream.bytes)}</td>
      <td className="figure">{whole(stream.replicas)}</td>
      <td>{stream.leader ? visible(stream.leader, true) : <span className="machines-bad">{words.noLeader}</span>}</td>
      <td>{words.lacks(stream.behind)}</td>
    </tr>
  );
}
