import "./chains.css";

export default function Chains() {
  return <h1>Chains</h1>;
}
