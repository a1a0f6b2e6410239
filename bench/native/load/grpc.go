package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// channel is one connection of HTTP/2 without TLS, shared by the callers on it.
type channel struct {
	client *http.Client
	target string
}

func dialGRPC(address *url.URL) *channel {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols, DisableCompression: true}
	return &channel{&http.Client{Transport: transport}, address.String()}
}

// grpcCaller makes unary calls over a channel.
type grpcCaller struct {
	channel *channel
	bodies  *bodies
	items   int
	key     string
}

func (c *grpcCaller) close() { c.channel.client.CloseIdleConnections() }

func (c *grpcCaller) call() (int, error) {
	message, _, _ := c.bodies.write(make([]byte, 5, c.bodies.size+5))
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-5))
	asked, err := http.NewRequest(http.MethodPost, c.channel.target, bytes.NewReader(message))
	if err != nil {
		return 0, err
	}
	asked.Header = http.Header{
		"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "X-Api-Key": {c.key}, "Grpc-Timeout": {"30S"},
	}
	answer, err := c.channel.client.Do(asked)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	status, text := answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message")
	if status == "" {
		status, text = answer.Header.Get("Grpc-Status"), answer.Header.Get("Grpc-Message")
	}
	if answer.StatusCode != http.StatusOK || status != "0" {
		return 0, fmt.Errorf("HTTP %d, gRPC status %q: %s", answer.StatusCode, status, text)
	}
	if len(body) < 6 || uint64(len(body)) != 5+uint64(binary.BigEndian.Uint32(body[1:])) {
		return 0, errors.New("not one message")
	}
	if c.items > 1 {
		err = checkResults(body[5:], c.items)
	}
	return len(body) - 5, err
}

// checkResults returns why an ExecuteResponse is not one of so many answers: its field 1 repeats, and in each result an
// answer is field 1, an error field 2.
func checkResults(message []byte, items int) error {
	count := 0
	for len(message) > 0 {
		size, used := binary.Uvarint(message[1:])
		if message[0] != 0x0a || used <= 0 || uint64(len(message)-1-used) < size {
			return errors.New("not an ExecuteResponse")
		}
		result := message[1+used : 1+used+int(size)]
		if len(result) == 0 || result[0] != 0x0a {
			return fmt.Errorf("a request failed: %.300q", result)
		}
		count, message = count+1, message[1+used+int(size):]
	}
	if count != items {
		return fmt.Errorf("%d results instead of %d", count, items)
	}
	return nil
}
