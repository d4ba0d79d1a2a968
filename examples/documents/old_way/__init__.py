"""The same job the way that most teams build it first: one function per document, a status column, a queue.

What it is, part by part, so that nobody has to call it a straw man:

- `jobs.py`: a table with one row per document and a status (queued, processing, done), in SQLite with full synchronous writes.
- A real Redis (or Valkey) list is the queue; like most queues in front of a database, it is not persisted.
- `worker.py`: two worker processes of eight threads each; a thread pops a document and runs ONE function: read, clean,
  vectorise, summarise, index, wait for `publish` (or 5 s), publish. Each step of it touches the row, so that a live job is
  never taken for a dead one. A finished document is not done again.
- `backend.py`: an HTTP backend that takes documents (row first, then queue; a second request for a row that exists is
  answered OK) and `publish` clicks (a column of the row, so that no click is lost with a process), and a reaper that each
  second puts rows back that have been `processing` untouched for as long as Perdure's session lease.
- Whatever dies is started again a second later, and whoever calls the backend tries again until it answers.

What it does not have is what the pieces do not give: no result of a step is kept but the last one's, so a job begins again at
its top; the index and the publications get a new key per run of the function, for nothing hands the function one that
survives it; and the reaper looks at `processing`, not at `queued`, for a row that waits in a long queue looks just like one
that the queue forgot.
"""
