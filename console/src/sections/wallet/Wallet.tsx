import { useEffect, useState } from "preact/hooks";
import { go, hashOf, route } from "../../app/routes.ts";
import { useStore } from "../../store.ts";
import { Copy } from "../../ui/Copy.tsx";
import { FailureNotice, Loading } from "../../ui/Notice.tsx";
import { Text } from "../../ui/Text.tsx";
import { familyOf } from "./address.ts";
import { Details } from "./Details.tsx";
import { Holdings } from "./Holdings.tsx";
import { Nfts } from "./Nfts.tsx";
import { inUnits, unitsOf } from "./plan.ts";
import { useKnown, useWallet, type Known } from "./useWallet.ts";
import "./wallet.css";

export default function Wallet() {
  const asked = useStore(route).query.get("address")?.trim() ?? "";
  const [turn, setTurn] = useState(0);
  const known = useKnown();
  const wallet = useWallet(asked, turn);
  const { failure, named, portfolio, reading } = wallet;
  // What the gateway holds against the address or the name stands at the field.
  const isOfField = failure !== undefined && (failure.field === "address" || failure.field === "name");
  return (
    <div class="wallet">
      <h1>Wallet</h1>
      <Asked
        asked={asked}
        known={known}
        complaint={isOfField ? failure.message : ""}
        read={(text) => (text === asked ? setTurn(turn + 1) : go(hashOf("wallet", { address: text })))}
      />
      {named && (
        <p class="named">
          <Text>{named.name}</Text> <span aria-hidden="true">→</span>
          <span class="hidden"> is </span> <code>{named.address}</code> <Copy text={named.address} of="the address" />
        </p>
      )}
      {reading && <Loading what={reading === "name" ? "the name" : "the portfolio"} />}
      {failure !== undefined && !isOfField && <FailureNotice failure={failure} again={() => setTurn(turn + 1)} />}
      {portfolio && (
        <>
          <Holdings portfolio={portfolio} again={wallet.again} readChain={wallet.readChain} units={unitsOf(["getPortfolio"], known.costs)} />
          {/* Another reading is another wallet's: nothing of the one before stays. */}
          <Details key={`details ${portfolio.address} ${portfolio.timestamp}`} portfolio={portfolio} costs={known.costs} />
          <Nfts
            key={`nfts ${portfolio.address} ${portfolio.timestamp}`}
            address={portfolio.address}
            chains={familyOf(portfolio.address) === "evm" ? portfolio.chains.map(({ chain }) => chain) : []}
            costs={known.costs}
          />
        </>
      )}
    </div>
  );
}

function Asked({ asked, known, complaint, read }: { asked: string; known: Known; complaint: string; read: (text: string) => void }) {
  const [text, setText] = useState(asked);
  const [isEmpty, setEmpty] = useState(false);
  useEffect(() => setText(asked), [asked]);
  const said = isEmpty ? "enter an address or a name" : text.trim() === asked ? complaint : "";
  return (
    <form
      class="asked card"
      onSubmit={(event) => {
        event.preventDefault();
        const given = text.trim();
        setEmpty(given === "");
        if (given !== "") read(given);
      }}
    >
      <label for="wallet-address">Address or name</label>
      <div class="row">
        <input
          id="wallet-address"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setEmpty(false);
          }}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={4096}
          aria-invalid={said !== ""}
          aria-describedby="wallet-complaint wallet-hint"
        />
        <button type="submit" class="main" aria-describedby="wallet-units">
          Read
        </button>
        <span id="wallet-units" class="faint">
          {inUnits(unitsOf(["getPortfolio"], known.costs))}; a name: {inUnits(unitsOf(["resolveENS"], known.costs))} more
        </span>
      </div>
      <p id="wallet-complaint" class="complaint" role="alert">
        {said !== "" && <Text most={1000}>{said}</Text>}
      </p>
      <p id="wallet-hint" class="faint">
        An address of any family (EVM, Solana, Bitcoin, Starknet, Cosmos), or an ENS name.{" "}
        {known.example !== undefined && (
          <>
            Try <a href={hashOf("wallet", { address: known.example })}>an example wallet</a>.
          </>
        )}
      </p>
    </form>
  );
}
