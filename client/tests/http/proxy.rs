use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use kaval_client::proxy::Proxy;
use kaval_client::{CallError, Client, Config, Stage, endpoints};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{CANARY, React, Server, answer, config, ok};
use crate::tls::Authority;

/// A CONNECT proxy that sends every tunnel to one port, and records the heads it got.
async fn tunnel(to: u16, reply: &'static str) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("address").port();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let record = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let record = record.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await.expect("head"));
                }
                record.lock().unwrap().push(String::from_utf8(head).expect("ASCII"));
                client.write_all(reply.as_bytes()).await.expect("reply");
                if reply.starts_with("HTTP/1.1 200") {
                    let mut server = TcpStream::connect(("127.0.0.1", to)).await.expect("origin");
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    (port, heads)
}

const ESTABLISHED: &str = "HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n";

fn check() -> kaval_client::Request {
    endpoints::check(Bytes::from_static(b"{}"))
}

fn environment(pairs: &[(&str, String)]) -> Config {
    let map: HashMap<_, _> = pairs.iter().map(|(k, v)| ((*k).to_owned(), OsString::from(v))).collect();
    Config::from_env(&|name| map.get(name).cloned()).expect("valid").0
}

/// https goes through a tunnel; neither the key nor the request is seen by the proxy.
#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let authority = Authority::new();
    let server =
        authority.serve("api.kaval.test", &[b"http/1.1"], |_, _| ok("{\"decision\":\"ALLOW\"}")).await;
    let (port, heads) = tunnel(server.port, ESTABLISHED).await;
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        let client = Client::new(environment(&[
            ("KAVAL_API_KEY", CANARY.to_owned()),
            ("KAVAL_BASE_URL", "https://api.kaval.test/x".to_owned()),
            ("SSL_CERT_FILE", authority.path()),
            (variable, format!("http://user:p%40ss@127.0.0.1:{port}")),
            ("NO_PROXY", "10.0.0.0/8,other.test".to_owned()),
        ]));
        for _ in 0..2 {
            client.call(check()).await.expect(variable);
        }
    }
    let heads = heads.lock().unwrap().clone();
    assert_eq!(heads.len(), 4, "the tunnel is used again");
    for head in heads {
        assert!(
            head.starts_with("CONNECT api.kaval.test:443 HTTP/1.1\r\nHost: api.kaval.test:443\r\n"),
            "{head}"
        );
        assert!(
            head.contains("Proxy-Authorization: Basic dXNlcjpwQHNz\r\n") && !head.contains(CANARY),
            "{head}"
        );
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 8);
    assert!(
        seen.iter()
            .all(|s| s.header("proxy-authorization").is_none() && s.line == "POST /x/v1/check HTTP/1.1")
    );
}

#[tokio::test]
async fn exempt_hosts_are_reached_directly() {
    let authority = Authority::new();
    let server = authority.serve("localhost", &[b"http/1.1"], |_, _| ok("{\"decision\":\"ALLOW\"}")).await;
    let (port, heads) = tunnel(server.port, ESTABLISHED).await;
    for (list, tunnels) in [("localhost", 0), (".other.test,LOCALHOST", 0), ("other.test", 1)] {
        let client = Client::new(environment(&[
            ("KAVAL_API_KEY", CANARY.to_owned()),
            ("KAVAL_BASE_URL", format!("https://localhost:{}", server.port)),
            ("SSL_CERT_FILE", authority.path()),
            ("HTTPS_PROXY", format!("http://127.0.0.1:{port}")),
            ("no_proxy", list.to_owned()),
        ]));
        client.call(check()).await.expect(list);
        assert_eq!(heads.lock().unwrap().len(), tunnels, "{list}");
    }
}

/// Plain http is sent to the proxy with the whole address in the request line.
#[tokio::test]
async fn http_is_sent_in_absolute_form() {
    let proxy = Server::start(|_, _| ok("{\"decision\":\"ALLOW\"}")).await;
    let mut config = config("http://api.kaval.test/x");
    config.proxy = Some(Proxy::parse(&format!("http://u:p@127.0.0.1:{}", proxy.port)).expect("proxy"));
    Client::new(config).call(check()).await.expect("answered");
    let seen = &proxy.seen()[0];
    assert_eq!(seen.line, "POST http://api.kaval.test/x/v1/check HTTP/1.1");
    assert_eq!(
        (seen.header("host"), seen.header("proxy-authorization")),
        (Some("api.kaval.test"), Some("Basic dTpw"))
    );
}

#[tokio::test]
async fn a_proxy_that_fails_is_named() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        listener.local_addr().expect("address").port()
    };
    let mut cases =
        vec![(format!("127.0.0.1:{closed}"), "refused"), ("no-proxy.invalid:3128".to_owned(), "dns")];
    for (reply, word) in [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407"),
        ("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n", "502"),
        ("SSH-2.0-x\r\n\r\n", "HTTP"),
        ("HTTP/1.1 200 OK\r\n\r\nsurprise", "ahead"),
    ] {
        cases.push((format!("u:{CANARY}@127.0.0.1:{}", tunnel(0, reply).await.0), word));
    }
    let ends = Server::start(|_, _| React::WriteAndClose(b"HTTP/1.1 2".to_vec())).await;
    cases.push((format!("127.0.0.1:{}", ends.port), "closed"));
    let endless = Server::start(|_, _| React::Write(answer(200, &[("x", &"y".repeat(20_000))], ""))).await;
    cases.push((format!("127.0.0.1:{}", endless.port), "too long"));
    for (proxy, word) in cases {
        let mut config = config("https://api.kaval.test");
        config.proxy = Some(Proxy::parse(&proxy).expect("proxy"));
        let error = Client::new(config).call(check()).await.expect_err("no tunnel");
        let CallError::Unreachable { stage, detail } = &error else { panic!("{proxy}: {error:?}") };
        assert_eq!(*stage, Stage::Proxy, "{proxy}: {error}");
        assert!(detail.contains(word) && !detail.contains("canary"), "{proxy}: {detail}");
    }
}

/// A SOCKS 5 proxy that wants `user` and `p@ss`, sends every tunnel to one port, and records the names asked for.
async fn socks(to: u16, status: u8) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("address").port();
    let names = Arc::new(Mutex::new(Vec::new()));
    let record = names.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let record = record.clone();
            tokio::spawn(async move {
                let mut greeting = [0; 3];
                client.read_exact(&mut greeting).await.expect("greeting");
                assert_eq!(greeting, [5, 1, 2], "user and password are offered");
                client.write_all(&[5, 2]).await.expect("method");
                let mut login = [0; 11];
                client.read_exact(&mut login).await.expect("login");
                assert_eq!(&login, b"\x01\x04user\x04p@ss");
                client.write_all(&[1, 0]).await.expect("welcome");
                let mut head = [0; 5];
                client.read_exact(&mut head).await.expect("request");
                assert_eq!(&head[..4], [5, 1, 0, 3], "a name to connect to");
                let mut name = vec![0; usize::from(head[4]) + 2];
                client.read_exact(&mut name).await.expect("name");
                let port = u16::from_be_bytes([name[name.len() - 2], name[name.len() - 1]]);
                let name = String::from_utf8(name[..name.len() - 2].to_vec()).expect("ASCII");
                record.lock().unwrap().push(format!("{name}:{port}"));
                client.write_all(&[5, status, 0, 1, 0, 0, 0, 0, 0, 0]).await.expect("reply");
                if status == 0 {
                    let mut server = TcpStream::connect(("127.0.0.1", to)).await.expect("origin");
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    (port, names)
}

#[tokio::test]
async fn socks_proxies_tunnel_both_schemes_and_resolve_names() {
    let authority = Authority::new();
    let secure =
        authority.serve("api.kaval.test", &[b"http/1.1"], |_, _| ok("{\"decision\":\"ALLOW\"}")).await;
    let plain = Server::start(|_, _| ok("{\"decision\":\"ALLOW\"}")).await;
    for (scheme, base, server, name) in [
        ("socks5h", "https://api.kaval.test", &secure, "api.kaval.test:443"),
        ("socks5", "http://api.kaval.test", &plain, "api.kaval.test:80"),
    ] {
        let (port, names) = socks(server.port, 0).await;
        let client = Client::new(environment(&[
            ("KAVAL_API_KEY", CANARY.to_owned()),
            ("KAVAL_BASE_URL", base.to_owned()),
            ("KAVAL_ALLOW_HTTP", "1".to_owned()),
            ("SSL_CERT_FILE", authority.path()),
            ("ALL_PROXY", format!("{scheme}://user:p%40ss@127.0.0.1:{port}")),
        ]));
        for _ in 0..2 {
            client.call(check()).await.expect(scheme);
        }
        assert_eq!(*names.lock().unwrap(), [name]);
        let seen = server.seen();
        assert_eq!((seen.len(), seen[0].line.as_str()), (2, "POST /v1/check HTTP/1.1"));
        assert_eq!(seen[0].header("proxy-authorization"), None);
    }
}

#[tokio::test]
async fn a_socks_proxy_that_fails_is_named() {
    let refuses = socks(9, 5).await.0;
    for proxy in [
        format!("socks5://user:p%40ss@127.0.0.1:{refuses}"),
        "socks5://127.0.0.1:1".to_owned(),
        "socks5://no-proxy.invalid".to_owned(),
        format!("socks5://user:canary{}@127.0.0.1:{refuses}", "x".repeat(300)),
    ] {
        let mut config = config("https://api.kaval.test");
        config.proxy = Some(Proxy::parse(&proxy).expect("proxy"));
        let error = Client::new(config).call(check()).await.expect_err("no tunnel");
        assert!(matches!(&error, CallError::Unreachable { stage: Stage::Proxy, .. }), "{proxy}: {error:?}");
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }
}
