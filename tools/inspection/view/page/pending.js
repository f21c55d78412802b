// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pairs what a program posted with its completion, by queue, work request id and order.
(function(view) {
let pairs;               // note -> note, both ways
const made = new Map();  // connection and end -> posts with the time they ended

function make() {
  pairs = new Map();
  for (const connection of view.connections) {
    for (const end of [0, 1]) made.set(`${connection.index} ${end}`, ofEnd(connection.notes, end));
  }
}

function ofEnd(notes, end) {
  const posts = [], open = new Map(), sends = [];
  for (const index of notes) {
    const note = view.data.notes[index], members = note.members || {};
    if ((note.end === 1 ? 1 : 0) !== end) continue;
    if (note.what === "post_send" || note.what === "post_receive") {
      const post = {
        index,
        note,
        queue: note.what === "post_send" ? "send" : "receive",
        begin: note.time,
        end: Infinity
      };
      posts.push(post);
      const key = `${post.queue} ${members.wr_id}`;
      if (!open.has(key)) open.set(key, []);
      open.get(key).push(post);
      if (post.queue === "send") sends.push(post);
    } else if (note.what === "completion") {
      const post = (open.get(`${members.queue} ${members.wr_id}`) || []).shift();
      if (post === undefined) continue;
      post.end = note.time;
      pairs.set(post.index, index);
      pairs.set(index, post.index);
      // Sends end in order: those before it that asked for no completion have ended, too.
      if (post.queue !== "send") continue;
      while (sends.length && sends[0] !== post) {
        const earlier = sends[0];
        if (earlier.end === Infinity && view.own(earlier.note.members, "signaled")) break;
        earlier.end = Math.min(earlier.end, note.time);
        sends.shift();
      }
      if (sends[0] === post) sends.shift();
    }
  }
  return posts;
}

function partner(index) {
  if (pairs === undefined) make();
  return pairs.get(index);
}

// What is posted and has not ended at this time.
function at(connection, end, time, queue) {
  if (pairs === undefined) make();
  return (made.get(`${connection} ${end}`) || [])
      .filter((post) => post.queue === queue && post.begin <= time && post.end > time);
}

view.pending = {
  partner,
  at
};
})(window.view);
