// Words of the frame around everything.

export const shell = {
  name: "Handrail",
  skip: "Skip to the conversation",
  closeList: "Close the list",
  closePanel: "Close the panel",
  connecting: "Connecting…",
  lost: (seconds: number) => (seconds > 0 ? `Connection lost. Trying again in ${seconds} s` : "Connection lost. Trying again…"),
  asksAgain: "The machine of this session does not answer. It is asked again; nothing is done twice.",
  tryNow: "Try now",
  refused: "This browser is not let in yet",
  refusedHelp: "Open the link that the server printed. A link is good once; press Enter where the server runs for another, or run handrail serve --link.",
  revoked: "This device was revoked",
  revokedHelp: "It can no longer open sessions here. Ask the owner for a new link and open it in this browser. A device with the Administer scope creates links under Devices; on the server, run handrail serve --link.",
  dismiss: "Dismiss",
  broken: {
    title: "This part of the page broke",
    says: "Your sessions are not concerned: they run on the server. Reload the page; after an update of the server that is all it needs.",
    reload: "Reload",
    again: "Try again",
    details: "What went wrong",
  },
};
