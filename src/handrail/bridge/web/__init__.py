"""HTTP and WebSocket: guard, devices, routes, dialects, push."""
