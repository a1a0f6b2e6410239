// The load of a benchmark: callers that ask again as soon as they are answered, or requests at independent times.
//
// The body is a template (see body.go). Once every caller has one answer "ready" is printed, and at a line on standard
// input the run begins, so that what watches the server can leave the connecting out. At its end one line of JSON says
// what was measured; times are in seconds.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"
)

type outcome struct {
	Requests int     `json:"requests"`
	Seconds  float64 `json:"seconds"`
	Bytes    int     `json:"bytes"`
	P50      float64 `json:"p50"`
	P90      float64 `json:"p90"`
	P99      float64 `json:"p99"`
	Failed   int     `json:"failed"`
	Failure  string  `json:"failure"`
}

// record is what callers found. Safe for concurrent use.
type record struct {
	mutex     sync.Mutex
	latencies []float64
	bytes     int
	failed    int
	failure   string
}

func (r *record) note(latency time.Duration, size int, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err != nil {
		r.failed++
		r.failure = err.Error()
		return
	}
	r.latencies = append(r.latencies, latency.Seconds())
	r.bytes = size
}

func (r *record) outcome(elapsed time.Duration) outcome {
	slices.Sort(r.latencies)
	at := func(share float64) float64 {
		if len(r.latencies) == 0 {
			return 0
		}
		return r.latencies[min(int(share*float64(len(r.latencies))), len(r.latencies)-1)]
	}
	return outcome{len(r.latencies), elapsed.Seconds(), r.bytes, at(0.5), at(0.9), at(0.99), r.failed, r.failure}
}

// runClosed lets each caller ask until it is over, or so many requests were made in all.
func runClosed(callers []caller, seconds float64, most int) outcome {
	var found record
	var running sync.WaitGroup
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	for place, one := range callers {
		left := -1
		if most > 0 {
			left = most / len(callers)
			if place < most%len(callers) {
				left++
			}
		}
		running.Go(func() {
			for ; left != 0; left-- {
				sent := time.Now()
				if most == 0 && !sent.Before(end) {
					return
				}
				size, err := one.call()
				found.note(time.Since(sent), size, err)
				if err != nil {
					return
				}
			}
		})
	}
	running.Wait()
	return found.outcome(time.Since(began))
}

// mostOpen is how many connections a load at independent times opens at most: a server that cannot keep up makes its
// requests wait, which counts in their latencies, instead of refusing connections.
const mostOpen = 512

// runOpen sends at a rate, whatever is unanswered; a latency counts from when its request was due.
func runOpen(callers []caller, dial func() (caller, error), rate, seconds float64) outcome {
	var found record
	var running sync.WaitGroup
	idle := make(chan caller, mostOpen+len(callers))
	opened := len(callers)
	for _, one := range callers {
		idle <- one
	}
	gaps := rand.New(rand.NewPCG(1, 1))
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	for due := began; ; {
		due = due.Add(time.Duration(gaps.ExpFloat64() / rate * float64(time.Second)))
		if !due.Before(end) {
			break
		}
		time.Sleep(time.Until(due))
		if len(idle) == 0 && opened < mostOpen {
			one, err := dial()
			if err != nil {
				found.note(0, 0, err)
				break
			}
			opened++
			idle <- one
		}
		running.Go(func() {
			one := <-idle
			size, err := one.call()
			found.note(time.Since(due), size, err)
			idle <- one
		})
	}
	running.Wait()
	return found.outcome(time.Since(began))
}

func main() {
	target := flag.String("url", "", "where to post; with -grpc the path is the method's")
	template := flag.String("body", "", "file of the template of a body")
	connections := flag.Int("connections", 1, "callers, each with one request in flight")
	channels := flag.Int("grpc", 0, "call over gRPC, on so many connections")
	key := flag.String("key", "local", "API key over gRPC")
	items := flag.Int("items", 1, "items in a body")
	contained := flag.String("contains", "", "text that every item of an answer over JSON-RPC has")
	salt := flag.String("salt", "0000000000000000", "first 16 digits of addresses")
	distinct := flag.Uint64("distinct", 0, "addresses that are asked for in turn; 0: each once")
	first := flag.Uint64("first", 0, "the first of them")
	seconds := flag.Float64("seconds", 1, "how long to ask")
	most := flag.Int("requests", 0, "how many requests to make, instead of -seconds")
	rate := flag.Float64("rate", 0, "requests a second at independent times; 0: each caller one after the other")
	flag.Parse()
	address, err := url.Parse(*target)
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(*template)
	if err != nil || len(*salt) != 16 {
		log.Fatal("a template and 16 digits of salt are needed: ", err)
	}
	made := parse(text, *salt, *distinct, *first)
	shared := make([]*channel, *channels)
	for place := range shared {
		shared[place] = dialGRPC(address)
	}
	dialed := 0
	dial := func() (caller, error) {
		if len(shared) == 0 {
			return dialHTTP(address, made, *items, []byte(*contained))
		}
		dialed++
		return &grpcCaller{shared[dialed%len(shared)], made, *items, *key}, nil
	}
	callers := make([]caller, *connections)
	for place := range callers {
		if callers[place], err = dial(); err == nil {
			_, err = callers[place].call()
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("ready")
	if _, err = bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		log.Fatal("nothing said to begin: ", err)
	}
	var found outcome
	if *rate > 0 {
		found = runOpen(callers, dial, *rate, *seconds)
	} else {
		found = runClosed(callers, *seconds, *most)
	}
	if err = json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
