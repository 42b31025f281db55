// Texts of the frame around the pages.

export const shell = {
  name: "Handrail",
  skip: "Skip to the conversation",
  closeList: "Close sessions",
  closePanel: "Close panel",
  connecting: "Connecting…",
  lost: (seconds: number) => (seconds > 0 ? `Connection lost. Reconnecting in ${seconds} s` : "Connection lost. Reconnecting…"),
  asksAgain: "The machine of this session does not respond. Retrying; the command runs only once.",
  tryNow: "Reconnect now",
  refused: "This browser is not signed in",
  refusedHelp: "Open the link printed by the server. Each link works once. For a new one, press Enter in the server’s terminal or run handrail serve --link.",
  revoked: "This device was revoked",
  revokedHelp: "It can no longer open sessions here. Ask the owner for a new link and open it in this browser. A device with the Administer scope can create one under Devices; on the server, run handrail serve --link.",
  dismiss: "Dismiss",
  broken: {
    title: "Something went wrong in this part of the page",
    says: "Your sessions are not affected: they run on the server. Reload the page; after a server update this is usually enough.",
    reload: "Reload",
    again: "Try again",
    details: "Error details",
  },
};
