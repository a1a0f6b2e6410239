import { useId, useState } from "preact/hooks";
import { Table } from "../../ui/Table.tsx";
import type { Chain } from "./board.ts";
import { blockTime, blockTimes, rhythm, type Rhythm } from "./figures.ts";

interface Measured {
  readonly slug: string;
  readonly found: Rhythm;
  readonly newest: string;
}

/** The figures of the rows' lines, behind a button. */
export function BlockTimes({ chains }: { chains: readonly Chain[] }) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <section aria-label="Block times">
      <button type="button" class="small quiet" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        {isOpen ? "Hide figures of block times" : "Figures of block times"}
      </button>
      <div id={id} hidden={!isOpen}>
        {isOpen && <Measures chains={chains} />}
      </div>
    </section>
  );
}

function Measures({ chains }: { chains: readonly Chain[] }) {
  const rows = chains.flatMap((chain): Measured[] => {
    const found = rhythm(chain.blocks);
    if (found === undefined) return [];
    const newest = blockTimes(chain.blocks).slice(-10).reverse();
    return [{ slug: chain.slug, found, newest: newest.map((time) => blockTime(time.seconds)).join(", ") }];
  });
  if (rows.length === 0) return <p class="faint">No chain has made two blocks since the page looks.</p>;
  return (
    <Table<Measured>
      caption="Block times of up to five minutes, by the blocks' timestamps"
      showCaption
      rows={rows}
      keyOf={(row) => row.slug}
      columns={[
        { name: "Chain", show: (row) => row.slug, by: (row) => row.slug },
        { name: "Blocks", show: (row) => row.found.blocks, by: (row) => row.found.blocks, isNumber: true },
        { name: "Average", show: (row) => blockTime(row.found.average), by: (row) => row.found.average, isNumber: true },
        { name: "Shortest", show: (row) => blockTime(row.found.shortest), by: (row) => row.found.shortest, isNumber: true },
        { name: "Longest", show: (row) => blockTime(row.found.longest), by: (row) => row.found.longest, isNumber: true },
        { name: "Newest first", show: (row) => row.newest },
      ]}
    />
  );
}
