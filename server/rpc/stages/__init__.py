"""The stages that every call passes, one file each; `server.rpc.interceptor` composes them once per method."""
