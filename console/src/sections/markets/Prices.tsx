import type { RefObject } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { moment } from "../../format/times.ts";
import type { Failure } from "../../gateway/failure.ts";
import { addSpent, DEMO, key } from "../../gateway/session.ts";
import { subscribe } from "../../gateway/socket.ts";
import { useCall } from "../../gateway/useCall.ts";
import { useStore } from "../../store.ts";
import { Badge } from "../../ui/Badge.tsx";
import { FailureNotice, Loading } from "../../ui/Notice.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Text } from "../../ui/Text.tsx";
import { useAttention } from "../../ui/attention.ts";
import { PRICED } from "../../gateway/contract.ts";
import { Again } from "../../ui/Part.tsx";
import { PriceHistory } from "./PriceHistory.tsx";
import { money, type PriceRow, priceRows, type Top, watchedSymbols, type Watched } from "./prices.ts";

const MOST_TOKENS = 100;
const MOST_CHOSEN = 4;
const MOST_WATCHED = 10;
/** The gateway looks at what is watched every so often, for a unit each. */
const LOOKS_EVERY_S = 15;

/** The most widely deployed tokens, ten of them live; those that are chosen with their history. */
export function Prices({ place }: { place: RefObject<HTMLElement | null> }) {
  const dollars = useCall<Top>("getTopPrices", { limit: MOST_TOKENS, currency: "USD" });
  const euros = useCall<Top>("getTopPrices", { limit: MOST_TOKENS, currency: "EUR" });
  const [chosen, setChosen] = useState<readonly string[]>(["ETH"]);
  const [find, setFind] = useState("");
  const symbols = useMemo(() => (dollars.data?.results ?? []).map(({ symbol }) => symbol), [dollars.data]);
  const watched = useMemo(() => watchedSymbols(symbols, chosen, PRICED, MOST_WATCHED), [symbols, chosen]);
  const isAttended = useAttention(place);
  const user = useStore(key);
  // Without a key a watch would take most of the one request a second.
  const [isWanted, setWanted] = useState(user !== DEMO);
  const isOn = isAttended && isWanted;
  const { live, failure: watchFailure, again: watchAgain } = useWatch(watched, isOn);
  const rows = priceRows(dollars.data?.results ?? [], euros.data?.results ?? [], live);
  const sought = find.trim().toLowerCase();
  const shown = rows.filter(({ symbol, name }) => symbol.toLowerCase().includes(sought) || name.toLowerCase().includes(sought));
  const choose = (symbol: string) => setChosen(chosen.includes(symbol) ? chosen.filter((one) => one !== symbol) : [...chosen, symbol]);
  const again = () => {
    dollars.again();
    euros.again();
  };
  const columns: readonly Column<PriceRow>[] = [
    {
      name: "Token",
      by: ({ symbol }) => symbol.toLowerCase(),
      show: ({ symbol }) =>
        PRICED.has(symbol) ? (
          <label class="choice">
            <input
              type="checkbox"
              aria-label={`Plot ${symbol}`}
              checked={chosen.includes(symbol)}
              disabled={!chosen.includes(symbol) && chosen.length >= MOST_CHOSEN}
              onChange={() => choose(symbol)}
            />
            <Text most={24}>{symbol}</Text>
          </label>
        ) : (
          <span class="choice without" title="The gateway keeps no history of this token">
            <Text most={24}>{symbol}</Text>
          </span>
        ),
    },
    { name: "USD", isNumber: true, by: ({ usd }) => usd, show: (row) => <Price value={row.usd} currency="USD" error={row.error} /> },
    { name: "EUR", isNumber: true, by: ({ eur }) => eur, show: (row) => <Price value={row.eur} currency="EUR" error={row.error} {...(euros.data === undefined && { instead: euros.isLoading ? "…" : "not read" })} /> },
    {
      name: "Now",
      show: ({ isLive }) => (isLive && isOn && watchFailure === undefined ? <Badge tone="good">live</Badge> : <span class="faint">as read</span>),
    },
    { name: "Name", by: ({ name }) => name.toLowerCase(), show: ({ name }) => <Text most={40}>{name}</Text> },
    { name: "Chains", isNumber: true, by: ({ chains }) => chains, show: ({ chains }) => chains },
    { name: "Last updated, UTC", by: ({ lastUpdated }) => lastUpdated, show: ({ lastUpdated }) => (lastUpdated === undefined ? "—" : moment(lastUpdated)) },
  ];
  return (
    <>
      <div class="row">
        <label class="field">
          Find a token
          <input type="search" value={find} onInput={(event) => setFind(event.currentTarget.value)} />
        </label>
        <label class="choice">
          <input type="checkbox" checked={isWanted} onChange={() => setWanted(!isWanted)} />
          Live: {watched.length} tokens, {(watched.length * 60) / LOOKS_EVERY_S} units a minute
        </label>
        <Again what="prices" isLoading={dollars.isLoading || euros.isLoading} again={again} />
      </div>
      {dollars.failure && <FailureNotice failure={dollars.failure} again={dollars.again} />}
      {euros.failure && !dollars.failure && <FailureNotice failure={euros.failure} again={euros.again} compact />}
      {watchFailure && <FailureNotice failure={watchFailure} again={watchAgain} compact />}
      {dollars.data === undefined && dollars.isLoading && <Loading what="prices" />}
      {dollars.data !== undefined && (
        <div class="split">
          <div class="tall one-line">
            <Table caption="Prices of the most widely deployed tokens" columns={columns} rows={shown} keyOf={({ symbol }) => symbol} />
            <p class="faint">
              {shown.length} of {rows.length} tokens. Live are the chosen ones and the first, {MOST_WATCHED} at most, while this part is in view; the
              gateway looks at each every {LOOKS_EVERY_S} s. Tokens without a price are left out by it. Choose up to {MOST_CHOSEN} to plot.
            </p>
          </div>
          <PriceHistory symbols={chosen} />
        </div>
      )}
    </>
  );
}

function Price({ value, currency, error, instead = "no price" }: { value: number | undefined; currency: "USD" | "EUR"; error: string | undefined; instead?: string }) {
  if (value !== undefined) return <>{money(value, currency)}</>;
  return (
    <span class="faint" {...(error !== undefined && { title: error })}>
      {instead}
    </span>
  );
}

/** Watches the symbols while `isOn`; what came last stays until other symbols are watched or the key changes. */
function useWatch(symbols: readonly string[], isOn: boolean) {
  const [live, setLive] = useState<ReadonlyMap<string, Watched>>(new Map());
  const [failure, setFailure] = useState<Failure | undefined>();
  const [turn, setTurn] = useState(0);
  const user = useStore(key);
  const asked = symbols.join(" ");
  useEffect(() => {
    setLive(new Map());
    setFailure(undefined);
  }, [asked, user]);
  useEffect(() => {
    if (!isOn || asked === "") return;
    setFailure(undefined);
    const items = asked.split(" ").map((symbol) => ({ symbol }));
    let looks: ReturnType<typeof setInterval> | undefined;
    const end = subscribe<Watched>("watchPrices", { items }, {
      event(event) {
        if (looks === undefined) {
          addSpent(items.length);
          looks = setInterval(() => addSpent(items.length), LOOKS_EVERY_S * 1000);
        }
        setLive((before) => new Map(before).set(event.symbol, event));
      },
      end(why) {
        clearInterval(looks);
        setFailure(why);
      },
    });
    return () => {
      clearInterval(looks);
      end();
    };
  }, [asked, isOn, turn, user]);
  return { live, failure, again: () => setTurn(turn + 1) };
}
