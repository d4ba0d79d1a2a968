package perdure

// Version of this library, which is that of the server that it was made with.
const Version = "0.1.0"

const clientName = "perdure-go"
