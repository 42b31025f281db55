// Sample machines, as the server sends them and as the page stores them: given fields, defaults for all others.

import type { Json } from "../../src/protocol/wire";
import { clusterOf, useCluster, type Cluster } from "../../src/state/cluster";

const GIB = 1024 ** 3;

export const node = (name: string, fields: Json = {}): Json => ({ name, address: "", runs: true, moves: true, roots: ["/srv"], labels: [], sessions: 0, most_sessions: 8, free_memory: 4 * GIB, least_memory: GIB, behind: 0, cli: "agent", version: "1.0", since: 1, age: 1, ...fields });

export const told = (nodes: Json[], fields: Json = {}): Json => ({ me: "gateway-1", up: true, nodes, streams: [], alarms: [], ...fields });

export const cluster = (nodes: Json[], fields: Json = {}): Cluster => clusterOf(told(nodes, fields));

/** The page was notified. */
export const tellOf = (nodes: Json[], fields: Json = {}): void => useCluster.setState({ cluster: cluster(nodes, fields), problem: "" });
