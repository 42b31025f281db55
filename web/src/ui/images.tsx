// Images of a message or a result. Only the four supported types, as inline data, are drawn; others are replaced with a note.

import { object, text, type Block } from "../protocol/wire";
import { strings } from "../strings";

const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export const isImage = (block: Block): boolean => block.type === "image";

/** The image data in the format of the API or of MCP. */
function dataOf(block: Block): { type: string; data: string } {
  const source = object(block["source"]);
  return { type: text(source["media_type"]) || text(block["mimeType"]), data: text(source["data"]) || text(block["data"]) };
}

export function Images({ blocks }: { blocks: Block[] }) {
  const images = blocks.filter(isImage).map(dataOf);
  if (images.length === 0) return null;
  return (
    <div className="images">
      {images.map(({ type, data }, at) =>
        TYPES.includes(type) && /^[A-Za-z0-9+/=]+$/.test(data) ? (
          <img key={at} src={`data:${type};base64,${data}`} alt={strings.tools.imageAlt(at + 1, images.length)} />
        ) : (
          <p key={at} className="small soft">{strings.tools.imageNotShown}</p>
        ),
      )}
    </div>
  );
}
