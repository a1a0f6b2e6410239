import "./markets.css";

export default function Markets() {
  return <h1>Markets</h1>;
}
