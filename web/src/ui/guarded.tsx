// An error boundary: a fault in one part leaves the rest of the page working, and the user can reload or retry. Navigating elsewhere resets
// it.

import { Component, type ReactNode } from "react";

import { strings } from "../strings";
import { Button } from "./button";
import "./guarded.css";

interface Props {
  /** The route; a change resets the error. */
  place: string;
  /** Shown in place of a failed part; by default a message with buttons. */
  instead?: ReactNode;
  children: ReactNode;
}

interface Caught {
  error: Error | null;
  place: string;
}

export class Guarded extends Component<Props, Caught> {
  override state: Caught = { error: null, place: this.props.place };

  static getDerivedStateFromError(error: unknown): Partial<Caught> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps({ place }: Props, before: Caught): Caught | null {
    return place === before.place ? null : { error: null, place };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    if (this.props.instead !== undefined) return this.props.instead;
    const words = strings.shell.broken;
    return (
      <div className="guarded" role="alert">
        <h2>{words.title}</h2>
        <p>{words.says}</p>
        <div className="row">
          <Button kind="main" onClick={() => location.reload()}>
            {words.reload}
          </Button>
          <Button onClick={() => this.setState({ error: null })}>{words.again}</Button>
        </div>
        <details>
          <summary className="small">{words.details}</summary>
          <pre>{error.stack ?? error.message}</pre>
        </details>
      </div>
    );
  }
}
