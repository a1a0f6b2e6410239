import "./wallet.css";

export default function Wallet() {
  return <h1>Wallet</h1>;
}
