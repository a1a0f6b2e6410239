import "./operations.css";

export default function Operations() {
  return <h1>Operations</h1>;
}
