// The folder of the session that is shown: paths below it are shown without it.

import { createContext, useContext } from "react";

export const Folder = createContext("");
export const useFolder = (): string => useContext(Folder);
