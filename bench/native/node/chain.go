package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// Where the chain stands when the program starts, and the blocks below it whose parents are real.
	firstHead = 23_000_000
	linked    = 256
	// Blocks between the newest one and the newest final one.
	finality = 64
	// Hashes in a block's answer: what one of mainnet has on a quiet day.
	transactions = 100
)

// chain is an invented Ethereum: a block every period, whose header hashes to its hash. Safe for concurrent use.
type chain struct {
	id     uint64
	period time.Duration
	began  time.Time
	mutex  sync.Mutex
	blocks map[uint64]*block
}

type block struct {
	hash [32]byte
	json []byte
}

func newChain(id uint64, period time.Duration) *chain {
	return &chain{id: id, period: period, began: time.Now(), blocks: map[uint64]*block{}}
}

// head returns the number of the newest block.
func (c *chain) head() uint64 {
	return firstHead + uint64(time.Since(c.began)/c.period)
}

// madeAt returns the time of a block in unix seconds.
func (c *chain) madeAt(number uint64) uint64 {
	offset := time.Duration(int64(number)-firstHead) * c.period
	return uint64(c.began.Add(offset).Unix())
}

// resolve returns the number of a block that is named by number or tag, and whether it exists.
func (c *chain) resolve(name string) (uint64, bool) {
	head := c.head()
	switch name {
	case "latest", "pending", "":
		return head, true
	case "safe", "finalized":
		return head - finality, true
	case "earliest":
		return 0, true
	}
	number, err := parseQuantity(name)
	return number, err == nil && number <= head
}

// at returns a block; its parents down to the first linked one are made with it.
func (c *chain) at(number uint64) *block {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	first := number
	if number > firstHead-linked {
		for first = number; first > firstHead-linked && c.blocks[first-1] == nil; first-- {
		}
	}
	for ; first < number; first++ {
		c.make(first)
	}
	return c.make(number)
}

func (c *chain) make(number uint64) *block {
	if known := c.blocks[number]; known != nil {
		return known
	}
	parent := derive("parent", number, 0)
	if before := c.blocks[number-1]; before != nil {
		parent = before.hash
	}
	made := c.write(number, parent)
	c.blocks[number] = made
	return made
}

type member struct {
	name     string
	value    []byte
	isNumber bool
}

func (c *chain) write(number uint64, parent [32]byte) *block {
	word := func(name string) []byte { hash := derive(name, number, 0); return hash[:] }
	bloom := make([]byte, 256)
	for place := 0; place < len(bloom); place += 32 {
		hash := derive("bloom", number, uint64(place))
		copy(bloom[place:], hash[:])
	}
	// The order is that of the header.
	members := []member{
		{"parentHash", parent[:], false}, {"sha3Uncles", unhex("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"), false},
		{"miner", word("miner")[:20], false}, {"stateRoot", word("state"), false},
		{"transactionsRoot", word("transactions"), false}, {"receiptsRoot", word("receipts"), false},
		{"logsBloom", bloom, false}, {"difficulty", nil, true}, {"number", big(number), true},
		{"gasLimit", big(36_000_000), true}, {"gasUsed", big(18_000_000), true},
		{"timestamp", big(c.madeAt(number)), true}, {"extraData", []byte("bench"), false},
		{"mixHash", word("randao"), false}, {"nonce", make([]byte, 8), false},
		{"baseFeePerGas", big(1_000_000_000), true}, {"withdrawalsRoot", word("withdrawals"), false},
		{"blobGasUsed", big(131072), true}, {"excessBlobGas", nil, true},
		{"parentBeaconBlockRoot", word("beacon"), false}, {"requestsHash", word("requests"), false},
	}
	var header []byte
	var text strings.Builder
	text.WriteByte('{')
	for _, one := range members {
		header = append(header, encodeBytes(one.value)...)
		written := hex.EncodeToString(one.value)
		if one.isNumber {
			if written = strings.TrimLeft(written, "0"); written == "" {
				written = "0"
			}
		}
		fmt.Fprintf(&text, `"%s":"0x%s",`, one.name, written)
	}
	hash := keccak(append(lead(0xc0, len(header)), header...))
	fmt.Fprintf(&text, `"hash":"0x%x","size":"0xc350","uncles":[],"withdrawals":[],"transactions":[`, hash)
	for place := range uint64(transactions) {
		if place > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `"0x%x"`, derive("transaction", number, place))
	}
	text.WriteString("]}")
	return &block{hash, []byte(text.String())}
}

// byHash returns the number of a block that was made before.
func (c *chain) byHash(text string) (uint64, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for number, one := range c.blocks {
		if strings.EqualFold(fmt.Sprintf("0x%x", one.hash), text) {
			return number, true
		}
	}
	return 0, false
}

// derive returns a word that depends on nothing but its arguments.
func derive(name string, number, place uint64) [32]byte {
	text := append([]byte(name), make([]byte, 16)...)
	binary.BigEndian.PutUint64(text[len(name):], number)
	binary.BigEndian.PutUint64(text[len(name)+8:], place)
	return sha256.Sum256(text)
}

// big returns a number without leading zeros.
func big(number uint64) []byte {
	text := make([]byte, 8)
	binary.BigEndian.PutUint64(text, number)
	for len(text) > 0 && text[0] == 0 {
		text = text[1:]
	}
	return text
}

// encodeBytes returns a string of bytes as RLP.
func encodeBytes(value []byte) []byte {
	if len(value) == 1 && value[0] < 0x80 {
		return value
	}
	return append(lead(0x80, len(value)), value...)
}

func lead(base byte, size int) []byte {
	if size <= 55 {
		return []byte{base + byte(size)}
	}
	length := big(uint64(size))
	return append([]byte{base + 55 + byte(len(length))}, length...)
}

func unhex(text string) []byte {
	value, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return value
}
