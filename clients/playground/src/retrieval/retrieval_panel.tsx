export function RetrievalPanel() { return <p>soon</p>; }
