// The folder of the session shown. Paths below it are shown relative to it.

import { createContext, useContext } from "react";

export const Folder = createContext("");
export const useFolder = (): string => useContext(Folder);
