// The machine for a new session in a cluster: any with the folder, one by name, or any with certain labels. Shows which machines match.

import { useId } from "react";

import { useCluster, useFreshCluster, type Machine } from "../../state/cluster";
import { strings } from "../../strings";
import { visible } from "../../ui/visible";
import { ANYWHERE, labelsOf, outcome, places, type Where } from "./where";
import "./where-field.css";

const words = strings.machines.where;
const MACHINE = "machine:";

interface Props {
  folder: string;
  where: Where;
  change(where: Where): void;
}

export function WhereField(props: Props) {
  const machines = useCluster((known) => known.cluster?.machines);
  if (!machines) return null;
  return <Choosing {...props} machines={machines} />;
}

function Choosing({ folder, where, change, machines }: Props & { machines: Machine[] }) {
  useFreshCluster();
  const id = useId();
  const labels = labelsOf(machines);
  const known = places(machines, folder);
  const gone = where.kind === "machine" && !known.some((one) => one.machine === where.machine) ? [where.machine] : [];
  const choose = (value: string) => {
    if (value.startsWith(MACHINE)) change({ ...ANYWHERE, kind: "machine", machine: value.slice(MACHINE.length) });
    else change({ ...ANYWHERE, kind: value === "labels" ? "labels" : "any" });
  };
  return (
    <div className="where-field">
      <label className="field">
        <span>{words.label}</span>
        <select value={where.kind === "machine" ? MACHINE + where.machine : where.kind} aria-describedby={id} onChange={(event) => choose(event.target.value)}>
          <option value="any">{words.any}</option>
          {labels.length > 0 && <option value="labels">{words.labels}</option>}
          {known.map((one) => (
            <option key={one.machine} value={MACHINE + one.machine} disabled={one.closed !== ""}>
              {one.closed ? `${one.name}: ${one.closed}` : one.name}
            </option>
          ))}
          {gone.map((one) => (
            <option key={one} value={MACHINE + one}>
              {visible(one, true)}
            </option>
          ))}
        </select>
      </label>
      {where.kind === "labels" && <Labels all={labels} chosen={where.labels} change={(chosen) => change({ ...where, labels: chosen })} />}
      <p id={id} className="small soft" role="status">
        {outcome(machines, folder, where)}
      </p>
    </div>
  );
}

function Labels({ all, chosen, change }: { all: string[]; chosen: string[]; change(chosen: string[]): void }) {
  return (
    <div className="where-labels" role="group" aria-label={words.chosen}>
      {all.map((one) => (
        <label key={one} className="where-label small">
          <input type="checkbox" checked={chosen.includes(one)} onChange={(event) => change(event.target.checked ? [...chosen, one] : chosen.filter((other) => other !== one))} />
          {visible(one, true)}
        </label>
      ))}
    </div>
  );
}
