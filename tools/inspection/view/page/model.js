// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reads the data of the page and sorts packets, notes and findings by connection.
(function(view) {
function read(text) {
  const data = JSON.parse(text);
  for (const name of ["files", "layouts", "connections", "packets", "notes", "findings"])
    data[name] = view.list(data[name]);
  data.values = data.values || {};
  data.meanings = data.meanings || {};
  for (const packet of data.packets) {
    if (!Array.isArray(packet.seen) || packet.seen.length === 0) packet.seen = [{time: 0}];
  }
  return data;
}

function emptyConnection(source, index) {
  const ends = view.list(source.ends).slice(0, 2);
  while (ends.length < 2) ends.push({});
  return {
    index,
    source,
    service: source.service || "other",
    ends,
    packets: [],
    notes: [],
    findings: new Set(),
    repeated: 0,
    lost: 0,
    dropped: 0,
    trouble: 0,
    kinds: new Map(),
  };
}

function addPacket(connection, packet, index) {
  connection.packets.push(index);
  if (packet.is_repeated) ++connection.repeated;
  if (packet.is_lost) ++connection.lost;
  if (packet.is_dropped) ++connection.dropped;
  const isTrouble = view.words.isTrouble(packet);
  if (isTrouble) ++connection.trouble;
  const kind = view.words.kindOf(packet);
  connection.kinds.set(kind, (connection.kinds.get(kind) || 0) + 1);
  for (const finding of view.list(packet.findings)) connection.findings.add(finding);
}

// What belongs to no connection is shown as one of its own, the last.
function sort(data) {
  const connections = data.connections.map(emptyConnection);
  let rest;
  const placeOf = (index) => {
    if (connections[index] !== undefined && index < data.connections.length) return connections[index];
    if (rest === undefined) rest = emptyConnection({service: "other", isRest: true}, data.connections.length);
    return rest;
  };
  data.packets.forEach((packet, index) => addPacket(placeOf(packet.connection), packet, index));
  data.notes.forEach((note, index) => {
    if (connections[note.connection] !== undefined) connections[note.connection].notes.push(index);
  });
  data.findings.forEach((finding, index) => {
    for (const at of view.list(finding.packets)) {
      const packet = data.packets[at];
      if (packet !== undefined) placeOf(packet.connection).findings.add(index);
    }
  });
  // a page without packets has an empty one
  if (rest === undefined && connections.length === 0) placeOf(undefined);
  if (rest !== undefined) connections.push(rest);
  return connections;
}

view.endName = function(connection, end, before) {
  const found = view.connections[connection];
  if (found === undefined || found.source.isRest) return "";
  const {address, qp} = found.ends[end === 1 ? 1 : 0];
  return `${before ? `${before} ` : ""}${address || "?"}${qp === undefined ? "" : ` QP ${view.qp(qp)}`}`;
};

view.connectionOf = function(packet) {
  return packet.connection !== undefined && packet.connection < view.data.connections.length ?
      packet.connection :
      view.data.connections.length;
};

view.load = function(text) {
  view.data = read(text);
  view.connections = sort(view.data);
};
})(window.view);
