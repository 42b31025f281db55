// Which CLI and model answer, in a few words.

import type { Cli } from "../../state/bridge";
import { strings } from "../../strings";

const words = strings.start;

export const modelText = (cli: Cli): string => (cli.demo ? words.demo : [cli.name, cli.model].filter(Boolean).join(", "));
