/**
 * A viem transport over a gateway's chainRpc:
 *
 *     const client = createPublicClient({ chain: mainnet, transport: waypost("https://HOST/KEY/v1", "ethereum") });
 */
import { custom, type CustomTransport, type CustomTransportConfig, RpcRequestError } from "viem";
import { printJson } from "./json.js";
import { call, type JsonRpcOptions } from "./jsonrpc.js";
import { WaypostError } from "./errors.js";

export interface WaypostTransportConfig extends JsonRpcOptions, CustomTransportConfig {}

/** Returns a transport that sends a chain's own calls to the gateway at `url`, which holds the key; `chain` is a slug. */
export function waypost(url: string, chain: string, config: WaypostTransportConfig = {}): CustomTransport {
  // viem sends again by itself: once is enough here.
  const options = { ...config, retries: 0 };
  return custom(
    {
      async request({ method, params }: { method: string; params?: unknown }) {
        const body = { chain, method, params: params ?? [] };
        try {
          const { data } = (await call(url, "chainRpc", body, options)) as { data: { result: unknown } };
          return data.result;
        } catch (failure) {
          if (!(failure instanceof WaypostError)) throw failure;
          const { code, message, data } = failure.node ?? { code: null, message: "" };
          const error = { code: code ?? -32603, message: message || failure.rawMessage, data };
          throw new RpcRequestError({ body, url: chain, error });
        }
      },
    },
    { key: "waypost", name: `Waypost ${chain}`, ...config },
  );
}
