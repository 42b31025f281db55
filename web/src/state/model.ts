// The model behind new sessions: which one is connected, connecting another, forgetting it. A key is sent once and never kept here.

import { useEffect } from "react";
import { create } from "zustand";

import { get, send } from "../protocol/api";
import { useBridge, type Cli } from "./bridge";
import { onForget } from "./forget";

export type Way = "claude" | "api";

export interface ModelState {
  cli: Cli;
  connected: { use: Way; endpoint: string; model: string; kept: boolean } | null;
  /** Why the stored model is not used; "" if it is. */
  problem: string;
  claude: { installed: boolean; signed_in: boolean };
  /** The ways that --cli leaves open. */
  ways: Way[];
  /** The value of --cli. */
  requested: string;
}

export interface Access {
  use: Way;
  key?: string;
  endpoint?: string;
  model?: string;
  keep?: boolean;
}

const useModelState = create<{ state: ModelState | null }>(() => ({ state: null }));
onForget(() => useModelState.setState({ state: null }));

function take(state: ModelState): ModelState {
  useModelState.setState({ state });
  useBridge.setState({ cli: state.cli });
  return state;
}

export const loadModel = async (): Promise<ModelState> => take(await get<ModelState>("/api/model"));
export const connectModel = async (access: Access): Promise<ModelState> => take(await send<ModelState>("POST", "/api/model", access));
export const forgetModel = async (): Promise<ModelState> => take(await send<ModelState>("DELETE", "/api/model"));

const AGAIN = 3000;

/** The state, read again while it is shown: `claude` may be installed meanwhile. */
export function useModel(): ModelState | null {
  useEffect(() => {
    const read = () => void loadModel().catch(() => undefined); // the banner says when the server is away
    read();
    const timer = setInterval(read, AGAIN);
    return () => clearInterval(timer);
  }, []);
  return useModelState((known) => known.state);
}
