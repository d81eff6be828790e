export function InspectorPanel() { return <p>soon</p>; }
