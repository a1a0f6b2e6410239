module waypost/bench/native

go 1.25
