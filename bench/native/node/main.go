// The node of a benchmark: an invented Ethereum that answers what the rows ask and costs next to nothing.
//
// Its values are made up, so what asks it belongs to the devnet profile. It answers JSON-RPC on POST, batches too, each
// HTTP request after a delay; GET returns how many HTTP requests and how many calls came.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

type request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

type message struct {
	To    string `json:"to"`
	Data  string `json:"data"`
	Input string `json:"input"`
}

type server struct {
	chain           *chain
	delay           time.Duration
	isLogged        bool
	requests, calls atomic.Int64
}

var null = []byte("null")

func (s *server) ServeHTTP(writer http.ResponseWriter, asked *http.Request) {
	header := writer.Header()
	header["Content-Type"] = []string{"application/json"}
	if asked.Method == http.MethodGet {
		fmt.Fprintf(writer, `{"requests":%d,"calls":%d}`, s.requests.Load(), s.calls.Load())
		return
	}
	s.requests.Add(1)
	body, err := io.ReadAll(asked.Body)
	if err != nil {
		return
	}
	if s.delay > 0 {
		time.Sleep(s.delay)
	}
	if s.isLogged {
		log.Printf("%s", body)
	}
	answer := s.answer(body)
	header["Content-Length"] = []string{strconv.Itoa(len(answer))}
	writer.Write(answer)
}

func (s *server) answer(body []byte) []byte {
	if len(body) > 0 && body[0] == '[' {
		var batch []request
		if err := json.Unmarshal(body, &batch); err != nil {
			return failure(null, -32700, err)
		}
		s.calls.Add(int64(len(batch)))
		text := []byte{'['}
		for place, one := range batch {
			if place > 0 {
				text = append(text, ',')
			}
			text = append(text, s.one(one)...)
		}
		return append(text, ']')
	}
	var single request
	if err := json.Unmarshal(body, &single); err != nil {
		return failure(null, -32700, err)
	}
	s.calls.Add(1)
	return s.one(single)
}

func (s *server) one(asked request) []byte {
	result, err := s.result(asked)
	if err != nil {
		return failure(asked.ID, -32601, err)
	}
	text := make([]byte, 0, len(result)+48)
	text = append(text, `{"jsonrpc":"2.0","id":`...)
	text = append(text, asked.ID...)
	text = append(text, `,"result":`...)
	return append(append(text, result...), '}')
}

func failure(id []byte, code int, err error) []byte {
	text, _ := json.Marshal(err.Error())
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, text)
}

func (s *server) result(asked request) ([]byte, error) {
	text := func(place int) string {
		var written string
		if place < len(asked.Params) {
			json.Unmarshal(asked.Params[place], &written)
		}
		return written
	}
	switch asked.Method {
	case "eth_chainId":
		return fmt.Appendf(nil, `"0x%x"`, s.chain.id), nil
	case "eth_blockNumber":
		return fmt.Appendf(nil, `"0x%x"`, s.chain.head()), nil
	case "web3_clientVersion":
		return []byte(`"waypost-bench"`), nil
	case "eth_getBlockByNumber", "eth_getBlockByHash":
		if len(asked.Params) > 1 && string(asked.Params[1]) != "false" {
			return nil, errors.New("the stand-in has no transactions, only their hashes")
		}
		number, exists := s.chain.resolve(text(0))
		if asked.Method == "eth_getBlockByHash" {
			number, exists = s.chain.byHash(text(0))
		}
		if !exists {
			return null, nil
		}
		return s.chain.at(number).json, nil
	case "eth_getBalance":
		if _, exists := s.chain.resolve(text(1)); !exists || len(text(0)) != 42 {
			return nil, errors.New("header not found")
		}
		return fmt.Appendf(nil, `"0x%x"`, balance(text(0))), nil
	case "eth_call":
		var call message
		if len(asked.Params) == 0 || json.Unmarshal(asked.Params[0], &call) != nil {
			return nil, errors.New("invalid argument 0")
		}
		number, exists := s.chain.resolve(text(1))
		if !exists {
			return nil, errors.New("header not found")
		}
		if call.Data == "" {
			call.Data = call.Input
		}
		returned, err := s.chain.run(call.Data, number)
		if err != nil {
			return nil, err
		}
		return append(append([]byte(`"0x`), returned...), '"'), nil
	}
	return nil, fmt.Errorf("the method %s does not exist", asked.Method)
}

func parseQuantity(text string) (uint64, error) {
	digits, isHex := strings.CutPrefix(text, "0x")
	if !isHex {
		return 0, errors.New("not a quantity")
	}
	return strconv.ParseUint(digits, 16, 64)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	id := flag.Uint64("chain", 1, "chain id")
	period := flag.Duration("period", 12*time.Second, "time between blocks")
	delay := flag.Duration("delay", 0, "how long after a request its answer leaves")
	isLogged := flag.Bool("log", false, "log the body of each request")
	flag.Parse()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	log.Fatal(http.Serve(listener, &server{chain: newChain(*id, *period), delay: *delay, isLogged: *isLogged}))
}
