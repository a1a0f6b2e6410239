import { defineConfig } from "vite";

// Where `npm run dev` finds a gateway of the devnet, which lets pages of any origin call.
const gateway = process.env["WAYPOST_URL"] ?? "http://127.0.0.1:8080";
const target = { target: gateway, ws: true };

// The gateway's answers to `/` and `/-/console/<hash>/` are made of these files: names without hashes, as their folder has
// one, and addresses relative to it.
export default defineConfig({
  base: "./",
  publicDir: false,
  plugins: [{ name: "profile", apply: "serve", transformIndexHtml: (html) => html.replace("__PROFILE__", "devnet") }],
  server: { proxy: { "^/[A-Za-z0-9_-]+/v1(/.*)?$": target, "/openrpc.json": target, "/livez": target } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../transcoder/console",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: ["chrome123", "firefox128", "safari18"],
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
});
