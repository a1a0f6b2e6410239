"""The stages that every call passes, one file each; `server.rpc.pipeline.interceptor` composes them once per method."""
