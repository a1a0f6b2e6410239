// An account that one STARK key owns: checks the signature of the transaction's hash and runs its calls.

use starknet::account::Call;

#[starknet::interface]
trait IAccount<TState> {
    fn __validate__(self: @TState, calls: Array<Call>) -> felt252;
    fn __execute__(ref self: TState, calls: Array<Call>) -> Array<Span<felt252>>;
    fn public_key(self: @TState) -> felt252;
}

#[starknet::contract(account)]
mod Account {
    use array::{ArrayTrait, SpanTrait};
    use box::BoxTrait;
    use ecdsa::check_ecdsa_signature;
    use option::OptionTrait;
    use starknet::account::Call;
    use starknet::{ContractAddressIntoFelt252, get_caller_address, get_tx_info};
    use traits::Into;
    use zeroable::Zeroable;

    #[storage]
    struct Storage {
        public_key: felt252,
    }

    #[constructor]
    fn constructor(ref self: ContractState, public_key: felt252) {
        self.public_key.write(public_key);
    }

    #[external(v0)]
    impl AccountImpl of super::IAccount<ContractState> {
        fn __validate__(self: @ContractState, calls: Array<Call>) -> felt252 {
            let info = get_tx_info().unbox();
            let signature = info.signature;
            assert(signature.len() == 2, 'two felts sign');
            let is_signed = check_ecdsa_signature(
                info.transaction_hash, self.public_key.read(), *signature.at(0), *signature.at(1)
            );
            assert(is_signed, 'wrong signature');
            starknet::VALIDATED
        }

        fn __execute__(ref self: ContractState, mut calls: Array<Call>) -> Array<Span<felt252>> {
            assert(get_caller_address().is_zero(), 'only the protocol executes');
            let mut results = ArrayTrait::new();
            loop {
                match calls.pop_front() {
                    Option::Some(call) => {
                        let Call{to, selector, calldata } = call;
                        let result = starknet::call_contract_syscall(to, selector, calldata.span());
                        match result {
                            Result::Ok(returned) => results.append(returned),
                            Result::Err(reason) => panic(reason),
                        }
                    },
                    Option::None(()) => {
                        break ();
                    },
                };
            };
            results
        }

        fn public_key(self: @ContractState) -> felt252 {
            self.public_key.read()
        }
    }
}
