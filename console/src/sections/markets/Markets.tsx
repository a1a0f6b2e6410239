import { hashOf } from "../../app/routes.ts";
import { UNITS } from "../../gateway/contract.ts";
import { Funding } from "./Funding.tsx";
import { Gas } from "./Gas.tsx";
import { Part } from "../../ui/Part.tsx";
import { Prices } from "./Prices.tsx";
import { Yields } from "./Yields.tsx";
import "./markets.css";

const PARTS = [
  { id: "prices", name: "Prices" },
  { id: "yields", name: "Best yields" },
  { id: "funding", name: "Funding" },
  { id: "gas", name: "Gas" },
] as const;

/** Prices, yields, funding rates and gas, each read when it comes into view. */
export default function Markets() {
  return (
    <div class="markets">
      <h1>Markets</h1>
      <nav class="row parts" aria-label="Parts of Markets">
        {PARTS.map(({ id, name }) => (
          <a key={id} href={hashOf("markets", { part: id })}>
            {name}
          </a>
        ))}
        <span class="faint">A part is read when it comes into view.</span>
      </nav>
      <Part id="prices" name="Prices" units={2 * UNITS.getTopPrices}>
        {(place) => <Prices place={place} />}
      </Part>
      <Part id="yields" name="Best yields" units={UNITS.getYieldsBest}>
        {() => <Yields />}
      </Part>
      <Part id="funding" name="Funding" units={UNITS.getFundingRates}>
        {() => <Funding />}
      </Part>
      <Part id="gas" name="Gas" units={UNITS.compareGas}>
        {() => <Gas />}
      </Part>
    </div>
  );
}
