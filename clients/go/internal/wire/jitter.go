package wire

import (
	"math/rand/v2"
	"time"
)

// Jittered is between half the interval and all of it, so that many clients do not come back in step.
func Jittered(interval time.Duration) time.Duration {
	return interval/2 + rand.N(interval/2+1)
}
