// A request of an MCP server: a form to fill in, or an address to open.

import { useRef, useState } from "react";

import { text, texts } from "../../protocol/wire";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { target } from "../../ui/link";
import { visible } from "../../ui/visible";
import { useArmed } from "./armed";
import { FormField } from "./form-field";
import { contentOf, fieldsOf, valueOf, type Filled } from "./form-rules";
import { Look } from "./look";
import type { KindProps } from "./prompts";

const words = strings.prompts;

export function Elicitation(props: KindProps) {
  const { request } = props.question;
  return (
    <>
      <p className="asked-message">{visible(text(request["message"]))}</p>
      {text(request["mode"]) === "url" || (text(request["url"]) && !request["requested_schema"]) ? <Address {...props} /> : <Form {...props} />}
    </>
  );
}

function Address({ question, give, sending }: KindProps) {
  const box = useRef<HTMLDivElement>(null);
  const { armed } = useArmed(`${question.id} ${question.hash}`, box);
  const told = text(question.request["url"]);
  const page = target(told);
  const address = page?.protocol === "mailto:" ? "" : page?.href; // only addresses a browser opens as a page
  return (
    <>
      <Look box={box} label={words.openAddress}>
        <p className="small soft">{words.openAddress}</p>
        <pre>{visible(told)}</pre>
        <p className="small soft">{address ? words.leadsTo(new URL(address).host) : words.leadsNowhere}</p>
      </Look>
      <div className="prompt-buttons">
        {address && armed && (
          <a className="button main" href={address} target="_blank" rel="noopener noreferrer">{words.open}</a>
        )}
        <Button disabled={!armed || sending} onClick={() => give({ behavior: "allow" })}>{words.done}</Button>
        <Button kind="quiet" keys="Esc" onClick={() => give({ behavior: "deny" })}>{words.decline}</Button>
      </div>
    </>
  );
}

function Form({ question, give, sending }: KindProps) {
  const fields = fieldsOf(question.request["requested_schema"], texts(question.request["property_order"]));
  const [filled, setFilled] = useState<Filled>({});
  const [tried, setTried] = useState(false);
  const { content, problems } = contentOf(fields, filled);
  const send = () => {
    setTried(true);
    if (Object.keys(problems).length === 0 && !sending) give({ behavior: "allow", content });
  };
  return (
    <form className="asked" noValidate onSubmit={(event) => (event.preventDefault(), send())}>
      <div className="prompt-look">
        {fields.map((field) => (
          <FormField key={field.name} field={field} value={valueOf(field, filled)} problem={tried ? problems[field.name] : undefined} onChange={(value) => setFilled({ ...filled, [field.name]: value })} />
        ))}
        <p className="small soft">{words.secrets}</p>
      </div>
      <div className="prompt-buttons">
        <Button kind="main" type="submit" disabled={sending} keys="Enter" title={words.accept}>{words.accept}</Button>
        <Button kind="quiet" keys="Esc" title={words.decline} onClick={() => give({ behavior: "deny" })}>{words.decline}</Button>
      </div>
    </form>
  );
}
