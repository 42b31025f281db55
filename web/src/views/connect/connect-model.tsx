// The dialog that connects a model: an account of `claude`, an API key, or a compatible endpoint.

import { useId, useState, type FormEvent, type ReactNode } from "react";

import { reasonOf } from "../../protocol/api";
import { useMay } from "../../state/bridge";
import { connectModel, forgetModel, useModel, type Access, type ModelState } from "../../state/model";
import { tell } from "../../state/notices";
import { closeDialog } from "../../state/page";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Copy } from "../../ui/copy";
import { Dialog } from "../../ui/dialog";
import { Icon, type IconName } from "../../ui/icon";
import { modelText } from "../start/model-text";
import "../sessions/options-form.css";
import "../sessions/new-session.css";
import "../start/model-line.css";
import "./connect-model.css";

const words = strings.connect;
const WAYS = ["claude", "key", "endpoint"] as const;
type Tab = (typeof WAYS)[number];
const ICONS: Record<Tab, IconName> = { claude: "terminal", key: "bolt", endpoint: "globe" };

export function ConnectModel() {
  const state = useModel();
  const mayAdmin = useMay("admin");
  return (
    <Dialog title={words.title} onClose={closeDialog}>
      {state && <Now state={state} mayAdmin={mayAdmin} />}
      {state && (mayAdmin ? <Ways state={state} /> : <p className="soft">{words.admin}</p>)}
    </Dialog>
  );
}

function Now({ state, mayAdmin }: { state: ModelState; mayAdmin: boolean }) {
  const forget = async () => {
    try {
      await forgetModel();
      tell(words.forgotten);
    } catch (error) {
      tell(reasonOf(error), "error");
    }
  };
  return (
    <div className="model-line">
      <p className="grow">
        {words.now(modelText(state.cli))}
        {state.connected && <span className="soft"> {state.connected.kept ? words.keptHere : words.thisRun}</span>}
      </p>
      {state.connected && mayAdmin && <Button onClick={() => void forget()}>{words.forget}</Button>}
      {state.problem && (
        <p role="alert" className="field-error">
          {state.problem}
        </p>
      )}
    </div>
  );
}

function Ways({ state }: { state: ModelState }) {
  const open = WAYS.filter((one) => state.ways.includes(one === "claude" ? "claude" : "api"));
  const [chosen, setChosen] = useState<Tab>(open[0] ?? "key");
  const name = useId();
  const connect = useConnect();
  if (open.length === 0) return <p className="soft">{words.fixed(state.requested)}</p>;
  return (
    <>
      <div className="connect-ways" role="radiogroup" aria-label={words.ways}>
        {open.map((one) => (
          <label key={one} className="connect-way">
            <input type="radio" name={name} checked={chosen === one} onChange={() => (setChosen(one), connect.clear())} />
            <Icon name={ICONS[one]} />
            <strong>{words[one].title}</strong>
            <span className="small soft">{words[one].says}</span>
          </label>
        ))}
      </div>
      {chosen === "claude" && <Claude state={state} connect={connect} />}
      {chosen === "key" && <Key connect={connect} />}
      {chosen === "endpoint" && <Endpoint connect={connect} />}
      {connect.error && (
        <p role="alert" className="field-error">
          {words.failed(connect.error)}
        </p>
      )}
    </>
  );
}

interface Connect {
  busy: boolean;
  error: string;
  clear(): void;
  run(access: Access): void;
}

function useConnect(): Connect {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const run = async (access: Access) => {
    setBusy(true);
    setError("");
    try {
      const state = await connectModel(access);
      tell(words.connected(modelText(state.cli)));
      closeDialog();
    } catch (problem) {
      setError(reasonOf(problem));
    }
    setBusy(false);
  };
  return { busy, error, clear: () => setError(""), run: (access) => void run(access) };
}

function Claude({ state, connect }: { state: ModelState; connect: Connect }) {
  const { installed, signed_in: signedIn } = state.claude;
  const missing = installed ? words.claude.notSignedIn : words.claude.missing;
  const next = installed ? words.claude.signIn : words.claude.install;
  const ready = installed && signedIn;
  return (
    <div className="connect-form">
      <p role="status">{ready ? words.claude.ready : missing}</p>
      {!ready && (
        <div className="row connect-command">
          <code className="grow">{next}</code>
          <Copy text={next} label={words.copy} />
        </div>
      )}
      <footer className="dialog-foot">
        <Button kind="main" disabled={!installed || connect.busy} onClick={() => connect.run({ use: "claude" })}>
          {words.claude.use}
        </Button>
      </footer>
    </div>
  );
}

function Key({ connect }: { connect: Connect }) {
  const [key, setKey] = useState("");
  const [keep, setKeep] = useState(true);
  return (
    <Form connect={connect} button={words.key.use} ready={key.trim() !== ""} access={() => ({ use: "api", key, keep })}>
      <Secret label={words.key.label} hint={words.key.hint} value={key} change={setKey} />
      <Keep keep={keep} change={setKeep} />
    </Form>
  );
}

function Endpoint({ connect }: { connect: Connect }) {
  const [endpoint, setEndpoint] = useState("");
  const [model, setModel] = useState("");
  const [key, setKey] = useState("");
  const [keep, setKeep] = useState(true);
  return (
    <Form connect={connect} button={words.endpoint.use} ready={endpoint.trim() !== "" && model.trim() !== ""} access={() => ({ use: "api", endpoint, model, key, keep })}>
      <label className="field">
        <span>{words.endpoint.url}</span>
        <input type="url" value={endpoint} placeholder={words.endpoint.urlHint} autoComplete="off" spellCheck={false} maxLength={1000} onChange={(event) => setEndpoint(event.target.value)} />
      </label>
      <label className="field">
        <span>{words.endpoint.model}</span>
        <input value={model} autoComplete="off" spellCheck={false} maxLength={200} onChange={(event) => setModel(event.target.value)} />
      </label>
      <Secret label={words.endpoint.key} value={key} change={setKey} />
      <Keep keep={keep} change={setKeep} />
    </Form>
  );
}

interface FormProps {
  connect: Connect;
  button: string;
  ready: boolean;
  access(): Access;
  children: ReactNode;
}

function Form({ connect, button, ready, access, children }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (ready && !connect.busy) connect.run(access());
  };
  return (
    <form className="connect-form" onSubmit={submit}>
      {children}
      <footer className="dialog-foot">
        <Button kind="main" type="submit" disabled={!ready || connect.busy}>
          {connect.busy ? words.checking : button}
        </Button>
      </footer>
    </form>
  );
}

/** Not remembered by the browser, and never readable on the screen. */
function Secret({ label, hint, value, change }: { label: string; hint?: string; value: string; change(value: string): void }) {
  return (
    <label className="field">
      <span>{label}</span>
      <input type="password" value={value} placeholder={hint} autoComplete="off" data-1p-ignore spellCheck={false} maxLength={1000} onChange={(event) => change(event.target.value)} />
    </label>
  );
}

function Keep({ keep, change }: { keep: boolean; change(keep: boolean): void }) {
  const id = useId();
  return (
    <div>
      <label className="check">
        <input type="checkbox" checked={keep} aria-describedby={id} onChange={(event) => change(event.target.checked)} />
        {words.keep}
      </label>
      <p id={id} className="small soft">
        {words.keepHelp}
      </p>
    </div>
  );
}
