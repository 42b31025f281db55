// The images attached to the message, each with a button to remove it.

import { detach, type Picture } from "../../state/outbox";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";

const words = strings.composer;

export function Pictures({ session, pictures }: { session: string; pictures: Picture[] }) {
  if (pictures.length === 0) return null;
  return (
    <ul className="pictures" aria-label={words.attachments}>
      {pictures.map((one) => (
        <li key={one.key} aria-busy={!one.id}>
          <img src={one.shown} alt={one.name} />
          {!one.id && <span className="small soft">{words.uploading}</span>}
          <Button kind="quiet" aria-label={words.removeImage(one.name)} title={words.removeImage(one.name)} onClick={() => detach(session, one.key)}>
            <Icon name="close" />
          </Button>
        </li>
      ))}
    </ul>
  );
}
